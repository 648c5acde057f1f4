import { CreateRelayerRequestSchema } from '../../gen/relayer/v1/relayer_service_pb.js';
import { networkTypeFromProto, newRelayerFromProto, rpcUrlFromProto } from '../codec/relayer-values.js';
import { chainKeyOf, type Network, type NetworkType, networkTypes } from '../core/records/network.js';
import type { Relayer } from '../core/records/relayer.js';
import { checkRelayerParts } from '../core/relayer/relayer-rules.js';
import { entryIdFromText } from '../core/text/entry-id.js';
import type { JsonObject, JsonValue } from '../json/json-value.js';
import type { Environment } from './environment.js';
import { checkReference, codecOf, declaredNames, type FileEntry, objectOf, readMessage, requireMembers, textIn } from './file-entries.js';
import type { NetworkEntries } from './network-entries.js';
import type { Problem, Problems } from './problem.js';
import { resolveUrls } from './secret-reference.js';
import type { DeclaredSigner } from './signer-entries.js';

/** A relayer of the file, without the fields that its signer and its operation determine. */
export type RelayerEntry = Omit<Relayer, 'address' | 'disabledReason'>;

/** The entries that relayers may refer to. */
export interface References {
  readonly networks: NetworkEntries;
  /** By id; undefined: its curves are unknown. */
  readonly signers: ReadonlyMap<string, DeclaredSigner | undefined>;
  readonly notificationIds: ReadonlySet<string>;
}

const codec = codecOf(CreateRelayerRequestSchema);

/** Reads the relayers in the order of the file, and checks what they refer to. An entry is a CreateRelayer request. */
export function relayerEntries(
  entries: readonly FileEntry[],
  references: References,
  env: Environment,
  problems: Problems,
): readonly RelayerEntry[] {
  declaredNames(entries, 'id', problems);
  const userOf = new Map<string, string>();
  return entries.flatMap((entry) => {
    const object = objectOf(entry, problems);
    const relayer = object && relayerFrom(object, entry.path, references, env, problems);
    if (relayer === undefined) return [];
    checkSignerUse(relayer, entry.path, userOf, problems);
    return [relayer];
  });
}

function relayerFrom(
  written: JsonObject,
  path: string,
  references: References,
  env: Environment,
  problems: Problems,
): RelayerEntry | undefined {
  const type = networkTypes.find((known) => known === textIn(written, 'network_type'));
  const message = readMessage(codec, asRequest(written, type, path, env, problems), path, problems);
  requireMembers(written, ['id', 'name', 'network', 'network_type', 'signer_id'], path, problems);
  const { id = '', name, network: networkName, signerId, notificationId = '' } = message;
  problems.check(path, () => entryIdFromText(id));
  const wanted = networkTypeFromProto(message.networkType) && problems.check(path, () => newRelayerFromProto(message, () => id));
  problems.check(path, () => checkRelayerParts(wanted ?? { name, customRpcUrls: message.customRpcUrls.map(rpcUrlFromProto) }, { type }));
  if (type !== undefined) {
    checkNetwork(networkName, type, references.networks, `${path}.network`, problems);
    const unserved = references.signers.get(signerId)?.unservedReason(type);
    if (unserved !== undefined) problems.add(`${path}.signer_id`, unserved);
  }
  checkReference(signerId, references.signers, 'no signer has the id', `${path}.signer_id`, problems);
  checkReference(notificationId, references.notificationIds, 'no notification has the id', `${path}.notification_id`, problems);
  const network = references.networks.networks.find((known) => known.type === type && known.name === networkName);
  const policiesLocked = lockIn(written, path, problems);
  if (wanted === undefined || network === undefined || problems.has(path)) return undefined;
  return { ...wanted, network, policiesLocked };
}

/** The API has no such field: only the file locks policies, and ends a lock. */
const lockField = 'policies_locked';

function lockIn(written: JsonObject, path: string, problems: Problems): boolean {
  const lock = written.get(lockField) ?? false;
  if (typeof lock !== 'boolean') problems.add(`${path}.${lockField}`, 'must be true or false');
  return lock === true;
}

/** Returns the entry as the API takes it: with references resolved, and without policies that request nothing. */
function asRequest(written: JsonObject, type: NetworkType | undefined, path: string, env: Environment, problems: Problems): JsonObject {
  const object: JsonObject = new Map(written);
  object.delete(lockField);
  const urls = object.get('custom_rpc_urls') ?? null;
  object.set('custom_rpc_urls', resolveUrls(urls, `${path}.custom_rpc_urls`, env, problems));
  const policies = object.get('policies') ?? new Map();
  if (type !== undefined && policies instanceof Map) object.set('policies', apiPolicies(type, policies, `${path}.policies`, problems));
  return object;
}

function checkNetwork(name: string, type: NetworkType, networks: NetworkEntries, path: string, problems: Problems): void {
  const otherType = networkTypes.find((other) => networks.declared(other).has(name));
  if (networks.declared(type).has(name) || otherType === undefined) {
    checkReference(name, networks.declared(type), `no ${type} network has the name`, path, problems);
  } else {
    problems.add(path, `${JSON.stringify(name)} is a network of type ${otherType}, but network_type is "${type}"`);
  }
}

/** A part of `accountProblems` that needs no address: two relayers with one signer on one chain have the same account. */
function checkSignerUse({ signerId, network }: RelayerEntry, path: string, userOf: Map<string, string>, problems: Problems): void {
  const account = `${chainKeyOf(network)} ${signerId}`;
  const other = userOf.get(account);
  if (other === undefined) userOf.set(account, path);
  else problems.add(`${path}.signer_id`, `is already used on the same chain by ${other}; an account can have only one relayer`);
}

/**
 * Reports the relayers that share an account: two on one (chain, address) would take each other's nonces. Call it when the signers are
 * open.
 *
 * `relayers` are in the order of the file; an address is null if it is unknown; `origin` is where the relayer comes from (`relayers[2]`).
 */
export function accountProblems(
  relayers: readonly (Pick<Relayer, 'id'> & { readonly network: Network; readonly address: string | null; readonly origin: string })[],
): readonly Problem[] {
  const idOf = new Map<string, string>();
  return relayers.flatMap(({ id, network, address, origin }) => {
    if (address === null) return [];
    // Case matters in base58.
    const account = `${chainKeyOf(network)} ${network.type === 'evm' ? address.toLowerCase() : address}`;
    const other = idOf.get(account);
    if (other === undefined) {
      idOf.set(account, id);
      return [];
    }
    const problem = `has the same address as relayer ${JSON.stringify(other)} on the same chain (${address}); an account can have only one relayer`;
    return [{ path: `${origin}.signer_id`, problem }];
  });
}

/** A policy of OpenZeppelin Relayer that the API does not have. The file may contain it if its value requests nothing. */
type ForeignPolicy = { readonly asksForNothing: (value: JsonValue) => boolean } & (
  | { readonly problem: string }
  /** For a value that may be ignored. */
  | { readonly notice: string }
);

/** A setting of fees that users pay in tokens. */
const userPaid: ForeignPolicy = {
  asksForNothing: (value) => value === null || (Array.isArray(value) && value.length === 0) || (value instanceof Map && value.size === 0),
  problem: 'applies to fees that users pay in tokens, which are not supported; leave it out',
};

const foreignPolicies: Readonly<Record<NetworkType, Readonly<Record<string, ForeignPolicy>>>> = {
  evm: {},
  stellar: {
    timeout_seconds: {
      asksForNothing: (value) => value === null,
      problem: 'is not supported; set valid_until of each transaction instead',
    },
    concurrent_transactions: {
      asksForNothing: (value) => value === null || value === false,
      notice:
        "has no effect: the relayer's own transactions are sent one after another, and signed transactions of other accounts rarely wait for them",
    },
    allowed_tokens: userPaid,
    slippage_percentage: userPaid,
    fee_margin_percentage: userPaid,
    swap_config: userPaid,
  },
  solana: { allowed_tokens: userPaid, fee_margin_percentage: userPaid, swap_config: userPaid },
};

/** Returns a relayer's policies as the API takes them. Reports policies of OpenZeppelin Relayer that request something unsupported. */
function apiPolicies(type: NetworkType, policies: JsonObject, path: string, problems: Problems): JsonObject {
  const result: JsonObject = new Map(policies);
  for (const [name, policy] of Object.entries(foreignPolicies[type])) {
    result.delete(name);
    if (policy.asksForNothing(policies.get(name) ?? null)) continue;
    if ('problem' in policy) problems.add(`${path}.${name}`, policy.problem);
    else problems.notices.push(`${path}.${name} ${policy.notice}`);
  }
  checkStrategy(type, policies.get('fee_payment_strategy') ?? null, `${path}.fee_payment_strategy`, problems);
  if (problems.has(`${path}.fee_payment_strategy`)) result.delete('fee_payment_strategy');
  return result;
}

/** On Solana the default of OpenZeppelin Relayer is that users pay, so the file must set the strategy. */
function checkStrategy(type: NetworkType, strategy: JsonValue, path: string, problems: Problems): void {
  if (strategy === 'user') problems.add(path, 'must be "relayer": fees that users pay in tokens are not supported');
  else if (strategy === null && type === 'solana')
    problems.add(path, 'must be set to "relayer": the default of OpenZeppelin Relayer, "user", is not supported');
}
