import type { SaveResponse } from '../access/idempotency.js';
import { mayUseRelayer, type Principal } from '../access/principal.js';
import { checkName, entryIdFromText, taken } from '../entry-id.js';
import { DomainError, invalidField } from '../errors.js';
import type { Exclusively } from '../exclusively.js';
import type { Ids } from '../ids.js';
import { type Networks, networkIdOf } from '../network/networks.js';
import { checkNodeUrls } from '../network/node-urls.js';
import type { Directory } from '../ports/directory.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Signer } from '../ports/signer.js';
import type { Store } from '../ports/store.js';
import type { Signers } from '../signer/signers.js';
import { chainKeyOf, curveOf, type NetworkType, type RpcUrl } from './network.js';
import { laneOf, type Relayer, type RelayerPolicies } from './relayer.js';
import type { RelayerRegistry } from './relayer-registry.js';
import { checkNotification, checkPolicies } from './relayer-rules.js';
import { definitionFromRelayer } from './stored-relayer.js';

/** What `createRelayer` works with. */
export interface CreateRelayerDeps {
  readonly store: Pick<Store, 'read' | 'change' | 'commit'>;
  readonly ids: Ids;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly directory: Pick<Directory, 'relayer' | 'relayers'>;
  readonly networks: Pick<Networks, 'find'>;
  readonly signers: Pick<Signers, 'find'>;
  readonly registry: Pick<RelayerRegistry, 'start'>;
  /** Returns a signer's account on a network type, as that network writes it. */
  readonly accountOf: (networkType: NetworkType, signer: Signer) => Promise<string>;
  readonly exclusively: Exclusively;
}

/** A relayer as requested. */
export interface NewRelayer {
  /** Absent: a UUID. */
  readonly id: string | undefined;
  readonly name: string;
  readonly networkType: NetworkType;
  /** The name of its network. */
  readonly network: string;
  readonly paused: boolean;
  readonly policies: RelayerPolicies;
  readonly signerId: string;
  readonly notificationId: string | null;
  readonly customRpcUrls: readonly RpcUrl[];
}

/**
 * Creates a relayer and starts it. Calls no node. A caller whose key is limited to some relayers may create only those. Throws
 * `FIELD_INVALID`, `ID_EXISTS` (the id, or the account on its chain), `RELAYER_NOT_ALLOWED`.
 */
export function createRelayer(
  deps: CreateRelayerDeps,
  wanted: NewRelayer,
  caller: Principal,
  saveResponse: SaveResponse<Relayer> = () => [],
): Promise<Relayer> {
  const { store, ids, secretBox, registry, exclusively } = deps;
  return exclusively(async () => {
    const id = wanted.id === undefined ? ids.random() : entryIdFromText(wanted.id);
    checkCaller(caller, wanted.id);
    const { relayer, signer } = await relayerFrom(deps, { ...wanted, id });
    await checkNotification(store, relayer.notificationId);
    checkTaken(deps, relayer);
    await store.commit([store.change.putDefinition(definitionFromRelayer(secretBox, relayer)), ...saveResponse(relayer)]);
    await registry.start(relayer, signer);
    return relayer;
  });
}

function checkCaller(caller: Principal, id: string | undefined): void {
  if (caller.relayers === null || (id !== undefined && mayUseRelayer(caller, id))) return;
  const sentence = 'your API key is limited to some relayers; set id to one of them';
  throw new DomainError('forbidden', 'RELAYER_NOT_ALLOWED', sentence);
}

async function relayerFrom(
  deps: CreateRelayerDeps,
  wanted: NewRelayer & { readonly id: string },
): Promise<{ readonly relayer: Relayer; readonly signer: Signer }> {
  const { id, name, networkType, paused, policies, signerId, notificationId, customRpcUrls } = wanted;
  checkName(name);
  checkNodeUrls('custom_rpc_urls', customRpcUrls);
  checkPolicies(policies);
  const network = deps.networks.find(networkIdOf({ type: networkType, name: wanted.network }));
  if (network === undefined) throw invalidField('network', `must be the name of a configured ${networkType} network`);
  const held = deps.signers.find(signerId);
  if (held === undefined) throw invalidField('signer_id', 'must be the id of an existing signer');
  const signer = held.on(curveOf(networkType));
  if (signer === undefined) throw invalidField('signer_id', `must be a signer with a ${curveOf(networkType)} key`);
  const address = await deps.accountOf(networkType, signer);
  const relayer: Relayer = {
    id,
    name,
    network,
    networkType,
    address,
    signerId,
    notificationId,
    customRpcUrls,
    paused,
    disabledReason: null,
    policies,
  };
  return { relayer, signer };
}

function checkTaken({ directory }: CreateRelayerDeps, relayer: Relayer): void {
  if (directory.relayer(relayer.id) !== undefined) throw taken(`Relayer with ID ${relayer.id} already exists`);
  const { chain, account } = laneOf(relayer);
  const other = directory.relayers().find(({ network, address }) => address === account && chainKeyOf(network) === chain);
  if (other === undefined) return;
  throw taken(`the account ${account} already belongs to the relayer ${other.id} on this chain; use another signer`);
}
