import { isDeepStrictEqual } from 'node:util';
import type { LoadedConfig } from '../../config/config-file.js';
import type { Environment } from '../../config/environment.js';
import { textIn } from '../../config/file-entries.js';
import { type NotificationEntry, notificationEntries } from '../../config/notification-entries.js';
import { Problems } from '../../config/problem.js';
import { type References, type RelayerEntry, relayerEntries } from '../../config/relayer-entries.js';
import { DomainError } from '../../core/errors/errors.js';
import type { NodeUrlPolicy } from '../../core/network/node-url-policy.js';
import type { SecretBox } from '../../core/ports/secret-box.js';
import type { NotificationReads } from '../../core/ports/store/notifications.js';
import type { Definition } from '../../core/records/definition.js';
import { checkRelayerParts } from '../../core/relayer/relayer-rules.js';
import { definitionFromKey } from '../../core/signer/signers.js';
import type { JsonObject } from '../../json/json-value.js';
import { localKeys } from '../../signers/local/local-keys.js';
import { openedSecret } from './secrets.js';
import { cannotMove, isHere, moves, type ReadableRecord, type Verdict, type Verdicts } from './verdict.js';

/** The inputs of all verdicts. */
export interface Judging {
  readonly config: LoadedConfig;
  readonly env: Environment;
  /** Its notifications have their URLs in plain text. */
  readonly store: { readonly read: NotificationReads };
  readonly secretBox: Pick<SecretBox, 'seal'>;
  /** OpenZeppelin Relayer's: 32 bytes. */
  readonly oldKey: Buffer;
  readonly nodeUrls: Pick<NodeUrlPolicy, 'problemOf'>;
  /** The signers and relayers that the API has stored or deleted here, by kind and id. */
  readonly definitions: Readonly<Record<'signer' | 'relayer', ReadonlyMap<string, Definition>>>;
  /** Takes the names of the records whose secrets do not open. */
  readonly undecrypted: string[];
}

const inFile = 'the configuration file has it';
/** Maps the variant of a stored signer to its type in the configuration file. */
const hostedTypes = new Map([
  ['Vault', 'vault'],
  ['VaultTransit', 'vault_transit'],
  ['AwsKms', 'aws_kms'],
  ['AzureKeyVault', 'azure_key_vault'],
  ['GoogleCloudKms', 'google_cloud_kms'],
  ['Turnkey', 'turnkey'],
  ['Cdp', 'cdp'],
]);

/** A signer moves if OpenZeppelin Relayer holds its key. */
export function judgeSigner({ key, id, content }: ReadableRecord, judging: Judging): Verdict<Definition> {
  const { config, definitions, secretBox, undecrypted, oldKey } = judging;
  if (config.signers.some((entry) => entry.id === id)) return isHere(inFile);
  const stored = definitions.signer.get(id);
  if (stored !== undefined) return isHere(storedNote(stored));
  const variants = content.get('config');
  const [variant = '', parts] = variants instanceof Map ? ([...variants][0] ?? []) : [];
  if (variant !== 'Local')
    return cannotMove(
      `signers of type ${hostedTypes.get(variant) ?? 'unknown'} are not imported; add it to the configuration file if its type is supported`,
    );
  const opened = openedSecret(textIn(parts ?? null, 'raw_key') ?? '', key, oldKey);
  if (opened === undefined) {
    undecrypted.push(`signer ${id}`);
    return cannotMove('its key cannot be decrypted');
  }
  const privateKey = Buffer.from(opened, 'base64');
  try {
    if (privateKey.length !== 32) return cannotMove('its record has no key of 32 bytes');
    localKeys.open(id, privateKey);
    return moves(definitionFromKey(secretBox, id, privateKey));
  } catch (error) {
    if (error instanceof DomainError) return cannotMove(error.message);
    throw error;
  } finally {
    privateKey.fill(0);
  }
}

function storedNote({ content }: Definition): string {
  return content === null ? 'the API deleted this entry of the configuration file' : 'its id is already stored';
}

/** A notification moves with its signing key, if its target is allowed. */
export async function judgeNotification({ key, id, content }: ReadableRecord, judging: Judging): Promise<Verdict<NotificationEntry>> {
  const { config, env, store, undecrypted, oldKey } = judging;
  const stored = textIn(content, 'signing_key');
  const signingKey = stored === undefined ? '' : openedSecret(stored, key, oldKey);
  if (signingKey === undefined) {
    undecrypted.push(`notification ${id}`);
    return cannotMove('its signing key cannot be decrypted');
  }
  const filed = config.notifications.find((entry) => entry.id === id);
  if (filed !== undefined)
    return isHere(comparedNote(filed, { id, url: textIn(content, 'url') ?? '', signingKey: signingKey || null }, ['url', 'signingKey']));
  if ((await store.read.notification(id)) !== undefined) return isHere('its id is already stored');
  const written: JsonObject = new Map(content).set('type', content.get('notification_type') ?? null);
  written.delete('notification_type');
  if (signingKey === '') written.delete('signing_key');
  else
    written.set(
      'signing_key',
      new Map([
        ['type', 'plain'],
        ['value', signingKey],
      ]),
    );
  const problems = new Problems();
  const [entry] = notificationEntries([{ value: written, path: 'record' }], env, problems).notifications;
  return entry === undefined ? cannotMove(sentenceOf(problems)) : moves(entry, noticesOf(problems).join('; '));
}

/** What the API changed in OpenZeppelin Relayer does not move into entries of the configuration file: its author must decide. */
function comparedNote<T extends object>(filed: T, theirs: T, fields: readonly (keyof T & string)[]): string {
  const different = fields.filter((field) => !isDeepStrictEqual(filed[field], theirs[field]));
  if (different.length === 0) return inFile;
  const names = different.map((field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  return `${inFile}, with different ${names.join(', ')}; to use OpenZeppelin Relayer's, change the file`;
}

function sentenceOf({ list }: Problems): string {
  return list.map(({ path, problem }) => `${path.replace(/^record\.?/, '')}: ${problem}`.replace(/^: /, '')).join('; ');
}

function noticesOf({ notices }: Problems): readonly string[] {
  return notices.map((notice) => notice.replace(/^record\./, ''));
}

/** The verdicts that relayers depend on. */
export interface RelayerParts {
  readonly signers: Verdicts<Definition>;
  readonly notifications: Verdicts<NotificationEntry>;
  readonly openTransactions: ReadonlyMap<string, number>;
}

/** A relayer moves if its network, signer, notification and policies do. One with open transactions is paused here. */
export function judgeRelayer({ id, content }: ReadableRecord, parts: RelayerParts, judging: Judging): Verdict<RelayerEntry> {
  const { config, definitions } = judging;
  const open = parts.openTransactions.get(id) ?? 0;
  const openNote = `${open} ${open === 1 ? 'transaction is' : 'transactions are'} open in OpenZeppelin Relayer`;
  const problems = new Problems();
  const entry = relayerFrom(content, parts, judging, problems);
  const stored = definitions.relayer.get(id);
  const filed = config.relayers.find((relayer) => relayer.id === id);
  if (stored !== undefined || filed !== undefined) {
    const note = filed === undefined || entry === undefined ? 'its id is already used' : comparedNote(filed, entry, comparedFields);
    return isHere(open === 0 ? note : `${note}; ${openNote}: pause it there, and wait until they are final before you start this service`);
  }
  const lost = lostPart(content, parts);
  if (lost !== undefined) return cannotMove(lost);
  if (entry === undefined) return cannotMove(sentenceOf(problems));
  const pausedNote =
    open > 0 ? [`paused, because ${openNote}; unpause it when they are final`] : entry.paused ? ['paused, as in OpenZeppelin Relayer'] : [];
  return moves({ ...entry, paused: entry.paused || open > 0 }, [...pausedNote, ...noticesOf(problems)].join('; '));
}

const comparedFields = ['name', 'network', 'policies', 'signerId', 'notificationId', 'customRpcUrls'] as const;

function lostPart(content: JsonObject, { signers, notifications }: RelayerParts): string | undefined {
  const signerId = textIn(content, 'signer_id') ?? '';
  if (signers.get(signerId)?.outcome === 'cannot move') return `its signer ${signerId} cannot move`;
  const notificationId = textIn(content, 'notification_id') ?? '';
  return notifications.get(notificationId)?.outcome === 'cannot move' ? `its notification ${notificationId} cannot move` : undefined;
}

function relayerFrom(content: JsonObject, parts: RelayerParts, judging: Judging, problems: Problems): RelayerEntry | undefined {
  const { config, env, nodeUrls } = judging;
  const written: JsonObject = new Map(content);
  for (const state of ['address', 'system_disabled', 'disabled_reason']) written.delete(state);
  const policies = written.get('policies');
  if (policies instanceof Map) written.set('policies', new Map([...policies].filter(([name]) => name !== 'network_type')));
  const references: References = {
    networks: {
      networks: config.networks,
      declared: (type) => new Set(config.networks.flatMap((network) => (network.type === type ? [network.name] : []))),
    },
    signers: new Map([...parts.signers.keys(), ...config.signers.map(({ id }) => id)].map((id) => [id, undefined])),
    notificationIds: new Set([...parts.notifications.keys(), ...config.notifications.map(({ id }) => id)]),
  };
  const [entry] = relayerEntries([{ value: written, path: 'record' }], references, env, problems);
  if (entry !== undefined) problems.check('record', () => checkRelayerParts({ customRpcUrls: entry.customRpcUrls }, { policy: nodeUrls }));
  return problems.list.length === 0 ? entry : undefined;
}
