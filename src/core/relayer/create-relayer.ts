import type { SaveResponse } from '../access/idempotency.js';
import { mayUseRelayer, type Principal } from '../access/principal.js';
import { entryIdFromText, taken } from '../entry-id.js';
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
import { checkNotification, checkPolicies, checkRelayerName } from './relayer-rules.js';
import { definitionFromRelayer } from './stored-relayer.js';

/** What creating works with. */
export interface CreateRelayerDeps {
  readonly store: Pick<Store, 'read' | 'change' | 'commit'>;
  readonly ids: Ids;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly directory: Pick<Directory, 'relayer' | 'relayers'>;
  readonly networks: Pick<Networks, 'find'>;
  readonly signers: Pick<Signers, 'find'>;
  readonly registry: Pick<RelayerRegistry, 'start'>;
  /** The account of a key on a kind of network, in that kind's way of writing. */
  readonly accountOf: (networkType: NetworkType, signer: Signer) => Promise<string>;
  readonly exclusively: Exclusively;
}

/** A relayer as its caller words it. */
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
 * Creates a relayer and takes it into service; no node is asked. A caller whose key is for some relayers may create those alone. Throws `FIELD_INVALID`,
 * `ID_EXISTS` (the id, or the account on its chain), `RELAYER_NOT_ALLOWED`.
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
  throw new DomainError('forbidden', 'RELAYER_NOT_ALLOWED', 'the key is for some relayers only: give the new one the id of one of those');
}

async function relayerFrom(
  deps: CreateRelayerDeps,
  wanted: NewRelayer & { readonly id: string },
): Promise<{ readonly relayer: Relayer; readonly signer: Signer }> {
  const { id, name, networkType, paused, policies, signerId, notificationId, customRpcUrls } = wanted;
  checkRelayerName(name);
  checkNodeUrls('custom_rpc_urls', customRpcUrls);
  checkPolicies(policies);
  const network = deps.networks.find(networkIdOf({ type: networkType, name: wanted.network }));
  if (network === undefined) throw invalidField('network', `must be the name of a network of the type ${networkType}`);
  const held = deps.signers.find(signerId);
  if (held === undefined) throw invalidField('signer_id', 'must be the id of a signer');
  const signer = held.on(curveOf(networkType));
  if (signer === undefined) throw invalidField('signer_id', `must be a signer with a key of ${curveOf(networkType)}`);
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
  if (other !== undefined)
    throw taken(`the account ${account} is that of the relayer ${other.id} on the same chain; an account takes one relayer`);
}
