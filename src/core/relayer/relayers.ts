import { isDeepStrictEqual } from 'node:util';
import type { DefinitionWriter } from '../definitions/definition-writer.js';
import { DomainError, invalidField } from '../errors/errors.js';
import { readAll } from '../errors/read-all.js';
import { type Networks, networkIdOf } from '../network/networks.js';
import type { NodeUrlPolicy } from '../network/node-url-policy.js';
import type { Directory } from '../ports/directory.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Signer } from '../ports/signer.js';
import { isConflict } from '../ports/store/change.js';
import type { NotificationReads } from '../ports/store/notifications.js';
import type { SaveResponse } from '../ports/store/stored-responses.js';
import type { TransactionChanges, TransactionListReads } from '../ports/store/transactions.js';
import type { Ids } from '../records/ids.js';
import { chainKeyOf, type Network, type NetworkType } from '../records/network.js';
import { isFor } from '../records/notification.js';
import { laneOf, type Relayer, relayerNotFound } from '../records/relayer.js';
import { openStatuses } from '../records/transaction.js';
import { keyFor, type Signers } from '../signer/signers.js';
import { entryIdFromText, taken } from '../text/entry-id.js';
import { decideAgain } from '../work/decide-again.js';
import type { Exclusively } from '../work/one-at-a-time.js';
import { lockedBy, requireUnlocked, requireUnlockedChange } from './policies-lock.js';
import { checkRelayerParts } from './relayer-rules.js';
import { definitionFromRelayer, type StoredRelayer } from './stored-relayer.js';

/** The dependencies of creating, changing and deleting relayers. */
export interface RelayerDeps {
  readonly store: { readonly read: NotificationReads & TransactionListReads; readonly change: TransactionChanges };
  readonly ids: Ids;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly directory: Pick<Directory, 'relayer' | 'relayers'>;
  readonly networks: Pick<Networks, 'find'>;
  readonly signers: Pick<Signers, 'find'>;
  /** Returns a signer's account on a network type, as that network writes it. */
  readonly accountOf: (networkType: NetworkType, signer: Signer) => Promise<string>;
  /** Ids of the configuration file's relayers: the store must remember that one of them was deleted. */
  readonly fileRelayers: ReadonlySet<string>;
  readonly exclusively: Exclusively;
  readonly writer: Pick<DefinitionWriter, 'commit'>;
  readonly nodeUrls: Pick<NodeUrlPolicy, 'problemOf'>;
}

/**
 * Creates a relayer and starts it. Calls no node. Throws `FIELD_INVALID`, `ID_EXISTS` (the id, or the account on its chain), and
 * `POLICIES_LOCKED`.
 */
export function createRelayer(deps: RelayerDeps, wanted: StoredRelayer, saveResponse: SaveResponse<Relayer> = () => []): Promise<Relayer> {
  const { store, secretBox, exclusively, writer } = deps;
  return exclusively(async () => {
    await checkNewRelayer(deps, wanted);
    const relayer = await relayerFrom(deps, wanted);
    checkTaken(deps, relayer);
    requireUnlocked(deps.directory.relayers(), relayer);
    await checkRecords(store, relayer);
    const others = [store.change.reopenRelayer(relayer.id), ...saveResponse(relayer)];
    await writer.commit([definitionFromRelayer(secretBox, relayer)], others);
    return relayer;
  });
}

/** What may be missing in a request that is refused. */
type Refusable = 'id' | 'networkType' | 'policies';

/**
 * Checks a requested relayer, except that its id and its account are free, as far as its network type is known. Throws `FIELD_INVALID`
 * naming every field that is wrong. The network type and the policies may be missing because they were refused, and the id because a UUID
 * is chosen.
 */
export async function checkNewRelayer(
  deps: Pick<RelayerDeps, 'store' | 'networks' | 'signers' | 'nodeUrls'>,
  draft: Omit<StoredRelayer, Refusable> & { readonly [K in Refusable]: StoredRelayer[K] | undefined },
): Promise<void> {
  const { id, name, networkType, network, policies, signerId, notificationId, customRpcUrls } = draft;
  const hasNotification = await hasOwnNotification(deps.store, id, notificationId);
  readAll({
    id: () => id === undefined || entryIdFromText(id),
    parts: () => checkRelayerParts({ name, customRpcUrls, ...(policies && { policies }) }, { type: networkType, policy: deps.nodeUrls }),
    network: () => networkType && findNetwork(deps, networkType, network),
    signer: () => findSigner(deps, networkType, signerId),
    notification: () => requireNotification(hasNotification),
  });
}

function findNetwork({ networks }: Pick<RelayerDeps, 'networks'>, type: NetworkType, name: string): Network {
  const network = networks.find(networkIdOf({ type, name }));
  if (network === undefined) throw invalidField('network', `must be the name of a configured ${type} network`);
  return network;
}

function findSigner({ signers }: Pick<RelayerDeps, 'signers'>, type: NetworkType, id: string): Signer;
function findSigner({ signers }: Pick<RelayerDeps, 'signers'>, type: NetworkType | undefined, id: string): Signer | undefined;
function findSigner({ signers }: Pick<RelayerDeps, 'signers'>, type: NetworkType | undefined, id: string): Signer | undefined {
  const held = signers.find(id);
  if (held === undefined) throw invalidField('signer_id', 'must be the id of an existing signer');
  if (type === undefined) return undefined;
  const found = keyFor(held, type);
  if (typeof found !== 'string') return found;
  throw invalidField('signer_id', `must be a signer for ${type} networks: ${found}`);
}

async function relayerFrom(deps: RelayerDeps, wanted: StoredRelayer): Promise<Relayer> {
  const { networkType } = wanted;
  const network = findNetwork(deps, networkType, wanted.network);
  const address = await deps.accountOf(networkType, findSigner(deps, networkType, wanted.signerId));
  return { ...wanted, network, address, disabledReason: null, policiesLocked: false };
}

function checkTaken({ directory }: RelayerDeps, relayer: Relayer): void {
  if (directory.relayer(relayer.id) !== undefined) throw taken(`Relayer with ID ${relayer.id} already exists`, relayer.id);
  const { chain, account } = laneOf(relayer);
  const other = directory.relayers().find(({ network, address }) => address === account && chainKeyOf(network) === chain);
  if (other === undefined) return;
  throw taken(`the account ${account} already belongs to the relayer ${other.id} on this chain; use another signer`, other.id);
}

/** A deleted relayer's transactions stay stored: under another account they would look like those of the new one. */
async function checkRecords({ read }: RelayerDeps['store'], relayer: Relayer): Promise<void> {
  const { chain, account } = laneOf(relayer);
  const { items } = await read.transactionsOf(relayer.id, [], { offset: 0, limit: 1 });
  const other = items.find(({ transaction }) => transaction.chain !== chain || transaction.account !== account);
  if (other === undefined) return;
  const { chain: earlierChain, account: earlier } = other.transaction;
  const where = earlierChain === chain ? '' : ' on another chain';
  throw taken(
    `a deleted relayer with ID ${relayer.id} has transactions of the account ${earlier}${where}; use another id, or that account`,
    relayer.id,
  );
}

/** The fields of a relayer that a caller may change. */
export type RelayerChange = Partial<Pick<Relayer, 'name' | 'paused' | 'policies' | 'notificationId' | 'customRpcUrls'>>;

/**
 * Changes a relayer. The configuration file's entry is no longer used. Open transactions continue under the new policies; new RPC URLs are
 * used at once. An empty change changes nothing. `changeOf` derives the change from the present relayer. Throws `FIELD_INVALID`,
 * `RELAYER_NOT_FOUND`, `POLICIES_LOCKED`.
 */
export function updateRelayer(deps: RelayerDeps, id: string, changeOf: (relayer: Relayer) => RelayerChange): Promise<Relayer> {
  const { secretBox, directory, exclusively, writer } = deps;
  return exclusively(async () => {
    const before = requireRelayer(directory, id);
    const change = changeOf(before);
    if (Object.keys(change).length === 0) return before;
    await checkRelayerChange(deps, id, change, before.networkType);
    requireUnlockedChange(directory.relayers(), before, change);
    const relayer = { ...before, ...change, policiesVersion: versionAfter(before, change) };
    await writer.commit([definitionFromRelayer(secretBox, relayer)], []);
    // The service may have disabled it meanwhile.
    return directory.relayer(id) ?? relayer;
  });
}

/** Each change of the policies has a version of its own. */
function versionAfter({ policies, policiesVersion }: Relayer, change: RelayerChange): number {
  return change.policies === undefined || isDeepStrictEqual(change.policies, policies) ? policiesVersion : policiesVersion + 1;
}

/** Checks a requested change. Throws `FIELD_INVALID` naming every field that is wrong. */
export async function checkRelayerChange(
  { store, nodeUrls }: Pick<RelayerDeps, 'store' | 'nodeUrls'>,
  id: string,
  change: RelayerChange,
  type?: NetworkType,
): Promise<void> {
  const hasNotification = await hasOwnNotification(store, id, change.notificationId ?? null);
  readAll({
    parts: () => checkRelayerParts(change, { type, policy: nodeUrls }),
    notification: () => requireNotification(hasNotification),
  });
}

/**
 * Deletes a relayer and stops it. Its transactions stay stored but are no longer shown. Throws `RELAYER_NOT_FOUND`, `RELAYER_IN_USE` while
 * one of its transactions is open, and `POLICIES_LOCKED`.
 */
export async function deleteRelayer(deps: RelayerDeps, id: string): Promise<void> {
  const { store, directory, fileRelayers, exclusively, writer } = deps;
  const decide = async (): Promise<void> => {
    const { policiesLocked } = requireRelayer(directory, id);
    if (policiesLocked) throw lockedBy(id);
    await checkUnused(store, id);
    const key = { kind: 'relayer', id } as const;
    const write = fileRelayers.has(id) ? { ...key, content: null, sealed: null } : key;
    await writer.commit([write], [store.change.closeRelayer(id)]);
  };
  // In a conflict, a send was accepted meanwhile.
  await decideAgain(() => exclusively(decide), isConflict);
}

async function checkUnused({ read }: RelayerDeps['store'], id: string): Promise<void> {
  const { total } = await read.transactionsOf(id, openStatuses, { offset: 0, limit: 1 });
  if (total === 0) return;
  const count = total === 1 ? '1 open transaction' : `${total} open transactions`;
  throw new DomainError('precondition', 'RELAYER_IN_USE', `the relayer has ${count}; wait until they are final, or cancel them`, {
    metadata: { relayer_id: id, open_transactions: String(total) },
  });
}

/** True for none, and for one that exists and may get the relayer's events. `relayerId`: undefined for one that gets a new id. */
async function hasOwnNotification(
  { read }: RelayerDeps['store'],
  relayerId: string | undefined,
  notificationId: string | null,
): Promise<boolean> {
  const found = notificationId === null ? undefined : await read.notification(notificationId);
  return notificationId === null || (found !== undefined && isFor(found, relayerId ?? ''));
}

function requireNotification(exists: boolean): void {
  if (!exists) throw invalidField('notification_id', 'must be the id of an existing notification, which is for this relayer or for all');
}

/** Returns the relayer with this id. Throws `RELAYER_NOT_FOUND`. */
function requireRelayer(directory: Pick<Directory, 'relayer'>, id: string): Relayer {
  const relayer = directory.relayer(id);
  if (relayer === undefined) throw relayerNotFound(id);
  return relayer;
}
