import type { Exclusively } from '../exclusively.js';
import { checkNodeUrls } from '../network/node-urls.js';
import type { Directory } from '../ports/directory.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Store } from '../ports/store.js';
import type { Relayer } from './relayer.js';
import type { RelayerRegistry } from './relayer-registry.js';
import { checkNotification, checkPolicies, checkRelayerName, relayerNotFound } from './relayer-rules.js';
import { definitionFromRelayer } from './stored-relayer.js';

/** What changing works with. */
export interface UpdateRelayerDeps {
  readonly store: Pick<Store, 'read' | 'change' | 'commit'>;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly directory: Pick<Directory, 'relayer'>;
  readonly registry: Pick<RelayerRegistry, 'change'>;
  readonly exclusively: Exclusively;
}

/** What a caller may change of a relayer. */
export type RelayerChange = Partial<Pick<Relayer, 'name' | 'paused' | 'policies' | 'notificationId' | 'customRpcUrls'>>;

/**
 * Changes a relayer, for good: the configuration file's entry is not used from then on. What runs goes on with the new policies; nodes of
 * its own are used at once. A change that says nothing is none. `changeOf` words the change of the relayer as it is. Throws
 * `FIELD_INVALID`, `RELAYER_NOT_FOUND`.
 */
export function updateRelayer(deps: UpdateRelayerDeps, id: string, changeOf: (relayer: Relayer) => RelayerChange): Promise<Relayer> {
  const { store, secretBox, directory, registry, exclusively } = deps;
  return exclusively(async () => {
    const before = directory.relayer(id);
    if (before === undefined) throw relayerNotFound(id);
    const change = changeOf(before);
    if (Object.keys(change).length === 0) return before;
    if (change.name !== undefined) checkRelayerName(change.name);
    if (change.customRpcUrls !== undefined) checkNodeUrls('custom_rpc_urls', change.customRpcUrls);
    if (change.policies !== undefined) checkPolicies(change.policies);
    if (change.notificationId !== undefined) await checkNotification(store, change.notificationId);
    const definition = definitionFromRelayer(secretBox, { ...before, ...change });
    await store.commit([store.change.putDefinition(definition)]);
    const relayer = { ...before, ...change };
    await registry.change(relayer);
    // The service itself may have disabled it meanwhile.
    return directory.relayer(id) ?? relayer;
  });
}
