import { checkName } from '../entry-id.js';
import type { Exclusively } from '../exclusively.js';
import { checkNodeUrls } from '../network/node-urls.js';
import type { Directory } from '../ports/directory.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Store } from '../ports/store.js';
import type { Relayer } from './relayer.js';
import type { RelayerRegistry } from './relayer-registry.js';
import { checkNotification, checkPolicies, requireRelayer } from './relayer-rules.js';
import { definitionFromRelayer } from './stored-relayer.js';

/** What `updateRelayer` works with. */
export interface UpdateRelayerDeps {
  readonly store: Pick<Store, 'read' | 'change' | 'commit'>;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly directory: Pick<Directory, 'relayer'>;
  readonly registry: Pick<RelayerRegistry, 'change'>;
  readonly exclusively: Exclusively;
}

/** The fields of a relayer that a caller may change. */
export type RelayerChange = Partial<Pick<Relayer, 'name' | 'paused' | 'policies' | 'notificationId' | 'customRpcUrls'>>;

/**
 * Changes a relayer. The configuration file's entry is no longer used. Open transactions continue under the new policies; new RPC URLs are
 * used at once. An empty change changes nothing. `changeOf` derives the change from the present relayer. Throws `FIELD_INVALID`,
 * `RELAYER_NOT_FOUND`.
 */
export function updateRelayer(deps: UpdateRelayerDeps, id: string, changeOf: (relayer: Relayer) => RelayerChange): Promise<Relayer> {
  const { store, secretBox, directory, registry, exclusively } = deps;
  return exclusively(async () => {
    const before = requireRelayer(directory, id);
    const change = changeOf(before);
    if (Object.keys(change).length === 0) return before;
    if (change.name !== undefined) checkName(change.name);
    if (change.customRpcUrls !== undefined) checkNodeUrls('custom_rpc_urls', change.customRpcUrls);
    if (change.policies !== undefined) checkPolicies(change.policies);
    if (change.notificationId !== undefined) await checkNotification(store, change.notificationId);
    const relayer = { ...before, ...change };
    await store.commit([store.change.putDefinition(definitionFromRelayer(secretBox, relayer))]);
    await registry.change(relayer);
    // The service may have disabled it meanwhile.
    return directory.relayer(id) ?? relayer;
  });
}
