import { isDeepStrictEqual } from 'node:util';
import { configInForce } from '../../app/config-in-force.js';
import { closeSigners, findAccounts, openSigners, problemOf } from '../../app/open-accounts.js';
import { textIn } from '../../config/file-entries.js';
import type { NotificationEntry } from '../../config/notification-entries.js';
import { ConfigError } from '../../config/problem.js';
import type { RelayerEntry } from '../../config/relayer-entries.js';
import { readDefinitions } from '../../core/definitions/definition-writer.js';
import { networkIdOf } from '../../core/network/networks.js';
import { newNotification } from '../../core/notification/notifications.js';
import type { SecretBox } from '../../core/ports/secret-box.js';
import type { Change } from '../../core/ports/store/change.js';
import type { Store } from '../../core/ports/store/store.js';
import type { Definition } from '../../core/records/definition.js';
import { definitionFromRelayer } from '../../core/relayer/stored-relayer.js';
import { createSigners, type HostedKeys } from '../../core/signer/signers.js';
import type { Clock } from '../../core/work/clock.js';
import { CliError } from '../terminal/cli-error.js';
import { judgeApiKey, type NewKey } from './judge-api-key.js';
import { type Judging, judgeNotification, judgeRelayer, judgeSigner } from './judge-entries.js';
import type { ForeignRecord, ForeignRecords, RecordKind } from './records.js';
import { cannotMove, isHere, judgeAll, moving, type Verdict, type Verdicts } from './verdict.js';

/** The verdicts and the changes of an import. */
export interface ImportPlan {
  /** The verdict on every record, in the order in which they depend on each other. */
  readonly rows: readonly { readonly kind: RecordKind; readonly id: string; readonly verdict: Verdict<unknown> }[];
  /** For one commit. */
  readonly changes: readonly Change[];
  readonly newKeys: readonly NewKey[];
}

/** The dependencies of planning. */
export type PlanDeps = Omit<Judging, 'definitions' | 'undecrypted' | 'secretBox' | 'store'> & {
  /** Its notifications have their URLs in plain text. */
  readonly store: Store;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly hostedKeys: HostedKeys;
};

/**
 * Judges every record of OpenZeppelin Relayer by the rules of the API and of a start. Stores nothing.
 * Throws CliError if a secret cannot be decrypted, and ConfigError if the service could not start.
 */
export async function planImport({ of, openTransactions }: ForeignRecords, deps: PlanDeps): Promise<ImportPlan> {
  const { store, secretBox, clock } = deps;
  const [signerDefinitions, relayerDefinitions] = await Promise.all([store.read.definitions('signer'), store.read.definitions('relayer')]);
  const definitions = { signer: byId(signerDefinitions), relayer: byId(relayerDefinitions) };
  const judging: Judging = { ...deps, definitions, undecrypted: [] };

  const signers = await judgeAll(of('signer'), (record) => judgeSigner(record, judging));
  const notifications = await judgeAll(of('notification'), (record) => judgeNotification(record, judging));
  if (judging.undecrypted.length > 0) throw notDecrypted(judging.undecrypted);
  const parts = { signers, notifications, openTransactions };
  const relayers = await judgeAll(of('relayer'), (record) => judgeRelayer(record, parts, judging));
  await judgeAccounts(of('relayer'), { signers, notifications, relayers }, deps);
  const presentKeys = new Set((await store.read.apiKeys()).map(({ id }) => id));
  const apiKeys = await judgeAll(of('apikey'), (record) => judgeApiKey(record, presentKeys, clock.nowMs()));
  const plugins = await judgeAll(of('plugin'), () =>
    cannotMove('plugins do not run in the service; run the code in a process of your own, and create a plugin with its URL'),
  );

  const networks = judgeNetworks(of('network'), moving(relayers));

  const verdicts = { network: networks, signer: signers, notification: notifications, relayer: relayers, apikey: apiKeys, plugin: plugins };
  const { change } = store;
  return {
    rows: Object.entries<Verdicts<unknown>>(verdicts).flatMap(([kind, some]) =>
      [...some].map(([id, verdict]) => ({ kind: kind as RecordKind, id, verdict })),
    ),
    changes: [
      ...definitionsOf(signers, relayers, secretBox).map((definition) => change.putDefinition(definition)),
      ...moving(relayers).map(({ id }) => change.reopenRelayer(id)),
      ...moving(notifications).map((entry) => change.insertNotification(newNotification({ secretBox, clock }, entry))),
      ...moving(apiKeys).map(({ apiKey }) => change.insertApiKey(apiKey)),
    ],
    newKeys: moving(apiKeys),
  };
}

function byId(definitions: readonly Definition[]): ReadonlyMap<string, Definition> {
  return new Map(definitions.map((definition) => [definition.id, definition]));
}

function definitionsOf(signers: Verdicts<Definition>, relayers: Verdicts<RelayerEntry>, secretBox: SecretBox): readonly Definition[] {
  return [...moving(signers), ...moving(relayers).map((relayer) => definitionFromRelayer(secretBox, relayer))];
}

/** The error message names at most this many records. */
const maxNamed = 10;

function notDecrypted(names: readonly string[]): CliError {
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : '';
  const named = `${names.slice(0, maxNamed).join(', ')}${more}`;
  return new CliError(
    `the secrets of ${named} cannot be decrypted; pass the name of the variable that holds OpenZeppelin Relayer's STORAGE_ENCRYPTION_KEY with --old-key-env, and its REDIS_KEY_PREFIX with --key-prefix; nothing was stored`,
    2,
  );
}

/**
 * Opens every key as the next start will, and compares the accounts: a relayer cannot move if its account belongs to another relayer, or
 * differs from its earlier account. The verdict on a relayer that is here names both accounts if they differ.
 */
async function judgeAccounts(
  records: readonly ForeignRecord[],
  {
    signers,
    notifications,
    relayers,
  }: { signers: Verdicts<Definition>; notifications: Verdicts<NotificationEntry>; relayers: Verdicts<RelayerEntry> },
  { store, secretBox, clock, config, hostedKeys }: PlanDeps,
): Promise<void> {
  const definitions = definitionsOf(signers, relayers, secretBox);
  const added = new Map(moving(notifications).map((entry) => [entry.id, newNotification({ secretBox, clock }, entry)]));
  const preview: Store = {
    ...store,
    read: {
      ...store.read,
      definitions: async (kind) => [
        ...(await store.read.definitions(kind)),
        ...definitions.filter((definition) => definition.kind === kind),
      ],
      notification: async (id) => added.get(id) ?? store.read.notification(id),
    },
    commit: async () => undefined,
  };
  const { wanted, all } = await configInForce({ store: preview, secretBox, clock }, config, await readDefinitions(preview.read));
  const opened = createSigners();
  const wantedSigners = [...all.signers].flatMap((id) => wanted.signer(id) ?? []);
  const { unopened } = await openSigners(wantedSigners, opened, { secretBox, hostedKeys }).finally(() => closeSigners(opened));
  const entries = [...all.relayers].flatMap((id) => wanted.relayer(id) ?? []);
  const found = await findAccounts(entries, wanted, opened);
  const problems = [...unopened.map(problemOf), ...found.problems];
  const addressHere = new Map(found.accounts.map(({ entry, address }) => [entry.id, address]));
  const addressThere = new Map(
    records.map(({ id, content }) => [id, typeof content === 'string' ? undefined : textIn(content, 'address')]),
  );
  const others = new Set(problems);
  for (const { id, networkType } of entries) {
    const origin = wanted.originOf(id);
    const address = addressHere.get(id) ?? null;
    const verdict = relayers.get(id);
    const there = addressThere.get(id) ?? '';
    const differs = address !== null && there !== '' && !isSameAddress(networkType, address, there);
    if (verdict?.outcome === 'is here' && differs)
      relayers.set(id, isHere(`${verdict.note}; its account here is ${address}, but it was ${there} in OpenZeppelin Relayer`));
    if (verdict?.outcome !== 'moves') continue;
    const own = problems.filter(({ path }) => path.startsWith(`${origin}.`));
    for (const problem of own) others.delete(problem);
    if (own.length > 0)
      relayers.set(id, cannotMove(own.map(({ path, problem }) => `${path.slice(origin.length + 1)}: ${problem}`).join('; ')));
    else if (differs)
      relayers.set(id, cannotMove(`its signer has the account ${address}, but the relayer had ${there} in OpenZeppelin Relayer`));
  }
  if (others.size > 0) throw new ConfigError([...others]);
}

/** Relayers that move use the RPC URLs of the configuration here: the verdicts name the networks that had other ones. */
function judgeNetworks(records: readonly ForeignRecord[], relayers: readonly RelayerEntry[]): Verdicts<never> {
  const used = new Map(
    relayers.flatMap(({ network, customRpcUrls }) => (customRpcUrls.length > 0 ? [] : [[networkIdOf(network), network]])),
  );
  const differing = records.filter(({ id, content }) => {
    const network = used.get(id);
    return network !== undefined && !isDeepStrictEqual(urlsIn(content).sort(), network.rpcUrls.map(({ url }) => url).sort());
  });
  const note = 'with other RPC URLs than in OpenZeppelin Relayer; to use those, write them into the configuration file';
  return new Map(differing.map(({ id }) => [id, isHere(note)]));
}

function urlsIn(content: ForeignRecord['content']): string[] {
  const variants = typeof content === 'string' ? undefined : content.get('config');
  const [parts] = variants instanceof Map ? variants.values() : [];
  const urls = parts instanceof Map ? parts.get('rpc_urls') : undefined;
  return Array.isArray(urls) ? urls.flatMap((item) => (typeof item === 'string' ? item : (textIn(item, 'url') ?? []))) : [];
}

/** EVM addresses may be written without their checksum. */
function isSameAddress(type: RelayerEntry['networkType'], here: string, there: string): boolean {
  return type === 'evm' ? here.toLowerCase() === there.toLowerCase() : here === there;
}
