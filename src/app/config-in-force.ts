import type { LoadedConfig } from '../config/config-file.js';
import { ConfigError } from '../config/problem.js';
import type { Settings } from '../config/settings.js';
import type { StoredDefinitions } from '../core/definitions/definition-writer.js';
import { createNodeUrlPolicy, type NodeUrlLimits, type NodeUrlPolicy } from '../core/network/node-url-policy.js';
import { followFile } from '../core/notification/follow-file.js';
import type { SecretBox } from '../core/ports/secret-box.js';
import type { DefinitionChanges, DefinitionReads } from '../core/ports/store/definitions.js';
import type { NotificationChanges, NotificationReads } from '../core/ports/store/notifications.js';
import type { StoreFor } from '../core/ports/store/store.js';
import type { TransactionChanges } from '../core/ports/store/transactions.js';
import type { Definition } from '../core/records/definition.js';
import type { Clock } from '../core/work/clock.js';
import { createWanted, goneSentence, type Touched, type Wanted } from './wanted.js';

/** The configuration file together with the changes by API, at a start. */
export interface ConfigInForce {
  readonly wanted: Wanted;
  /** Everything that is wanted. */
  readonly all: Touched;
  /** Sentences about parts of the file that have no effect. */
  readonly warnings: readonly string[];
  /** Updates the stored notifications to match the file again, after another file was in force. */
  followAgain(): Promise<void>;
}

interface Deps {
  readonly store: StoreFor<DefinitionReads & NotificationReads, DefinitionChanges & NotificationChanges & TransactionChanges>;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
}

/**
 * Combines the configuration file with the definitions of the API at a start, and updates the stored notifications to match the file.
 * Throws ConfigError if a stored relayer refers to something that the file no longer has.
 */
export async function configInForce(
  { store, clock, ...deps }: Deps,
  config: LoadedConfig,
  stored: StoredDefinitions,
): Promise<ConfigInForce> {
  const secretBox = throwingConfigError(deps.secretBox);
  const wanted = createWanted(secretBox, config);
  const all = wanted.learn(stored);
  const problems = [...wanted.problemsOf(all.relayers)];
  const relayers = [...all.relayers].flatMap((id) => wanted.relayer(id) ?? []);
  const follow = () => followFile({ store, secretBox, clock }, config.notifications, relayers);
  const followed = await follow();
  for (const { id, notificationId } of relayers) {
    if (notificationId !== null && followed.without.includes(id))
      problems.push({ path: `${wanted.originOf(id)}.notification_id`, problem: goneSentence('notification', notificationId) });
  }
  if (problems.length > 0) throw new ConfigError(problems);

  const gone = [
    ...goneFrom(config.signers, stored.signer),
    ...goneFrom(config.relayers, stored.relayer),
    ...goneFrom(config.plugins, stored.plugin),
  ];
  await forgetDeleted(store, gone, deletedAndLocked(config.relayers, stored.relayer));
  return {
    wanted,
    all,
    warnings: [...followed.warnings, ...wanted.warnings()],
    async followAgain() {
      await follow();
    },
  };
}

/** Returns the rules for the RPC URLs that the API sets. */
export function nodeUrlPolicyOf(
  settings: Pick<Settings, 'rpcAllowedHosts' | 'rpcBlockPrivateIps'>,
  { networks, relayers }: Pick<LoadedConfig, 'networks' | 'relayers'>,
): NodeUrlPolicy {
  const configured = [...networks.map(({ rpcUrls }) => rpcUrls), ...relayers.map(({ customRpcUrls }) => customRpcUrls)].flat();
  return createNodeUrlPolicy(
    limitsOf(settings),
    configured.map(({ url }) => url),
  );
}

/** Returns the rules for the URLs of plugins that the API sets. */
export function pluginUrlPolicyOf(
  settings: Pick<Settings, 'rpcAllowedHosts' | 'rpcBlockPrivateIps'>,
  { plugins }: Pick<LoadedConfig, 'plugins'>,
): NodeUrlPolicy {
  return createNodeUrlPolicy(
    limitsOf(settings),
    plugins.map(({ url }) => url),
  );
}

function limitsOf({ rpcAllowedHosts, rpcBlockPrivateIps }: Pick<Settings, 'rpcAllowedHosts' | 'rpcBlockPrivateIps'>): NodeUrlLimits {
  return { allowedHosts: rpcAllowedHosts, blockPrivate: rpcBlockPrivateIps };
}

/** Returns the box, which throws ConfigError if it cannot open a secret: the service was started with a key other than the earlier one. */
function throwingConfigError(secretBox: SecretBox): SecretBox {
  return {
    ...secretBox,
    open(sealed, purpose) {
      try {
        return secretBox.open(sealed, purpose);
      } catch {
        const problem = `cannot decrypt the stored secret of ${purpose.replace(':', ' ')}: it was encrypted with another key, or changed`;
        throw new ConfigError([{ path: 'STORAGE_ENCRYPTION_KEY', problem }]);
      }
    },
  };
}

/** The deleted entries that were removed from the file. */
function goneFrom(entries: readonly { readonly id: string }[], definitions: readonly Definition[]): readonly Definition[] {
  return definitions.filter(({ id, content }) => content === null && !entries.some((entry) => entry.id === id));
}

/** The relayers that the API deleted before the file locked their policies: they follow the file again. */
function deletedAndLocked(entries: LoadedConfig['relayers'], definitions: readonly Definition[]): readonly Definition[] {
  const locked = new Set(entries.flatMap(({ id, policiesLocked }) => (policiesLocked ? [id] : [])));
  return definitions.filter(({ id, content }) => content === null && locked.has(id));
}

/** Forgets deleted entries: one that is added to the file again is new. A relayer that works again takes transactions. */
async function forgetDeleted(
  { change, commit }: Deps['store'],
  gone: readonly Definition[],
  working: readonly Definition[],
): Promise<void> {
  const reopened = [...gone, ...working].flatMap(({ kind, id }) => (kind === 'relayer' ? [change.reopenRelayer(id)] : []));
  if (gone.length + reopened.length > 0) await commit([...gone.map((definition) => change.deleteDefinition(definition)), ...reopened]);
}
