import { xdr } from '@stellar/stellar-sdk';
import type { Refusal } from '../../core/ports/chain/drafts.js';
import { max, min } from '../../core/records/bigints.js';
import type { StellarPolicies } from '../../core/records/relayer.js';
import type { StellarOperationsContent } from '../../core/records/stellar.js';
import type { CallOptions } from '../rpc/call-router.js';
import { isNear, isRefused, judgedTwice, nearFactor } from '../rpc/judged-twice.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { questions } from './questions.js';
import { restoreBefore } from './restore-before.js';
import { transactionFrom } from './transaction.js';

/** A simulated contract operation with its authorization, its footprint and their resource fee. */
export interface Simulation {
  /** Base64 XDR of the only operation. */
  readonly operation: string;
  /** Base64 XDR of SorobanTransactionData. */
  readonly sorobanData: string;
  readonly resourceFeeStroops: bigint;
  /** What it returns, base64 XDR; null: the node does not say. */
  readonly returned: string | null;
  /** One node demands a resource fee above the limit, and no other one answered. */
  readonly isFeeDoubted?: true;
}

/** What a simulation is judged by. */
export interface SimulationLimits {
  readonly sequence: bigint;
  readonly maxResourceFeeStroops: bigint;
  readonly policies: StellarPolicies;
  /** True if two endpoints have differed for long in the footprint or the authorization. */
  readonly areLongApart: () => boolean;
}

/** How long a contract call waits while two endpoints differ in its footprint or authorization. */
export const apartForMs = 60_000;

/**
 * Simulates a contract operation and adds the source account's authorization if the content asks for that. Refuses if other addresses
 * must authorize, because they cannot sign later. Two endpoints are asked if two work: a call with too little of anything fails on the
 * ledger and pays, so the higher amounts count. If they differ in the footprint or the authorization, a third one decides; without one,
 * the call waits for a while, and then declares both footprints, with the larger authorization: entries that it does not use cost a fee,
 * but without one that it needs it fails. Throws `NODE_UNAVAILABLE`.
 */
export async function simulate(rpc: Rpc, content: StellarOperationsContent, limits: SimulationLimits): Promise<Simulation | Refusal> {
  const { maxResourceFeeStroops } = limits;
  const judge = async (options: CallOptions): Promise<Simulation | Costly | Refusal> => {
    const answer = await simulateOnce(rpc, content, limits, options);
    if ('refused' in answer || answer.resourceFeeStroops <= maxResourceFeeStroops) return answer;
    return { ...refusal('the resource fee is above the limit'), costly: answer };
  };
  const answer = await judgedTwice<Simulation>(rpc, judge, async (first, second, third) => {
    if (isLike(first, second)) return merged(first, second, maxResourceFeeStroops);
    const [word] = await third();
    const like = word === undefined || isRefused(word) ? undefined : [first, second].find((one) => isLike(one, word));
    if (like !== undefined && word !== undefined && !isRefused(word)) return merged(like, word, maxResourceFeeStroops);
    const [larger, smaller] = sizeOf(second) > sizeOf(first) ? [second, first] : [first, second];
    if (touchedBy(first) === touchedBy(second)) return merged(larger, smaller, maxResourceFeeStroops);
    const both = limits.areLongApart() ? joined(larger, smaller, maxResourceFeeStroops) : null;
    if (both !== null) return both;
    const sentence = 'RPC endpoints differ in the footprint or the authorization of the contract call';
    return { refused: 'reverts', sentence: `${sentence}; asking again for ${apartForMs / 1_000} seconds`, lasting: false };
  });
  // The price decides about a fee above the limit.
  if (!isCostly(answer)) return answer;
  return answer.isDoubted === true ? { ...answer.costly, isFeeDoubted: true } : answer.costly;
}

/** A refusal for a resource fee above the limit, which ends a transaction. */
interface Costly extends Refusal {
  readonly costly: Simulation;
}

function isCostly(answer: object): answer is Costly {
  return 'costly' in answer;
}

/** The amounts of a declaration that the network does not give back if they are too high, and without which the call fails. */
const amounts = ['instructions', 'diskReadBytes', 'writeBytes'] as const;

/** What a simulation declares. */
function declaredBy({ sorobanData }: Simulation): xdr.SorobanTransactionData {
  return xdr.SorobanTransactionData.fromXdr(sorobanData, 'base64');
}

/** True if two simulations differ in nothing but amounts that may both be right. */
function isLike(one: Simulation, other: Simulation): boolean {
  if (touchedBy(one) !== touchedBy(other)) return false;
  const [{ resources: ofOne }, { resources: ofOther }] = [declaredBy(one), declaredBy(other)];
  return (
    amounts.every((amount) => isNear(BigInt(ofOne[amount]), BigInt(ofOther[amount]))) &&
    isNear(one.resourceFeeStroops, other.resourceFeeStroops)
  );
}

/** What a call does, who authorizes it, and which ledger entries it uses, in any order. */
function touchedBy(simulation: Simulation): string {
  const { ext, resources } = declaredBy(simulation);
  const { readOnly, readWrite } = resources.footprint;
  const archived: readonly number[] = ext.type === 'resourceExt' ? ext.resourceExt.archivedSorobanEntries : [];
  const written = readWrite.map((key, index) => `${archived.includes(index) ? 'restored' : 'written'} ${key.toXdr('base64')}`);
  return [simulation.operation, ...readOnly.map((key) => key.toXdr('base64')), ...written].toSorted().join();
}

/** The kinds of ledger entries that a footprint may have. */
const footprintKinds: ReadonlySet<string> = new Set(['account', 'trustline', 'contractData', 'contractCode']);
/** A footprint with more entries may be above the limits of the network, and nodes refuse what is. */
const maxJoined = { all: 100, written: 50 };

/** Returns a simulation with what both declare; null: that is too much. */
function joined(one: Simulation, other: Simulation, maxStroops: bigint): Simulation | null {
  const own = declaredBy(one);
  const read = new Map<string, xdr.LedgerKey>();
  const written = new Map<string, xdr.LedgerKey>();
  const archived = new Set<string>();
  for (const { ext, resources } of [own, declaredBy(other)]) {
    const { readOnly, readWrite } = resources.footprint;
    for (const key of readOnly) if (footprintKinds.has(key.type)) read.set(key.toXdr('base64'), key);
    for (const key of readWrite) if (footprintKinds.has(key.type)) written.set(key.toXdr('base64'), key);
    for (const index of ext.type === 'resourceExt' ? ext.resourceExt.archivedSorobanEntries : [])
      archived.add(readWrite[index]?.toXdr('base64') ?? '');
  }
  for (const key of written.keys()) read.delete(key);
  if (written.size > maxJoined.written || written.size + read.size > maxJoined.all) return null;
  const archivedSorobanEntries = [...written.keys()].flatMap((key, index) => (archived.has(key) ? [index] : []));
  const ext =
    archivedSorobanEntries.length === 0
      ? xdr.SorobanTransactionDataExt.v0()
      : xdr.SorobanTransactionDataExt.resourceExt(new xdr.SorobanResourcesExtV0({ archivedSorobanEntries }));
  const footprint = new xdr.LedgerFootprint({ readOnly: [...read.values()], readWrite: [...written.values()] });
  const resources = new xdr.SorobanResources({ ...own.resources, footprint });
  const sorobanData = new xdr.SorobanTransactionData({ ...own, ext, resources }).toXdr('base64');
  // An entry that is written costs more than one that is read. What is too much of it is given back.
  const fees = [one, other].map((simulation) => {
    const { footprint: declared } = declaredBy(simulation).resources;
    return (
      (nearFactor * simulation.resourceFeeStroops * BigInt(read.size + written.size)) /
      BigInt(Math.max(1, declared.readOnly.length + declared.readWrite.length))
    );
  });
  const wantedStroops = max(one.resourceFeeStroops + other.resourceFeeStroops, ...fees);
  const resourceFeeStroops = min(wantedStroops, max(one.resourceFeeStroops, maxStroops / 2n));
  return merged({ ...one, sorobanData, resourceFeeStroops }, other, maxStroops);
}

/** Grows with the footprint and the authorization. */
function sizeOf({ operation, sorobanData }: Simulation): number {
  return operation.length + sorobanData.length;
}

/** Returns a simulation with the higher amounts of both. */
function merged(one: Simulation, other: Simulation, maxStroops: bigint): Simulation {
  const [own, others] = [declaredBy(one), declaredBy(other)];
  const most = amounts.map((amount) => [amount, Math.max(own.resources[amount], others.resources[amount])] as const);
  const resources = new xdr.SorobanResources({ ...own.resources, ...Object.fromEntries(most) });
  // Nodes reject a fee that is too low for the amounts. What is too much of it is given back, so each fee grows with its own amounts.
  const grown = [one, other].map((simulation) => {
    const { resources: declared } = declaredBy(simulation);
    const { resourceFeeStroops: fee } = simulation;
    return max(fee, ...most.map(([amount, value]) => grownBy(fee, BigInt(value), BigInt(declared[amount]))));
  });
  const named = max(one.resourceFeeStroops, other.resourceFeeStroops);
  // Half of the limit leaves room for the market's bid.
  const resourceFeeStroops = max(named, min(max(0n, ...grown), maxStroops / 2n));
  return {
    ...one,
    sorobanData: new xdr.SorobanTransactionData({ ...own, resources, resourceFee: resourceFeeStroops }).toXdr('base64'),
    resourceFeeStroops,
    returned: one.returned === other.returned ? one.returned : null,
  };
}

/** A fee for `declared` of something, if `needed` of it are used instead: at most as many times as much as may be right. */
function grownBy(fee: bigint, needed: bigint, declared: bigint): bigint {
  return declared === 0n || !isNear(needed, declared) ? (needed > declared ? fee * nearFactor : fee) : (fee * needed) / declared + 1n;
}

async function simulateOnce(
  rpc: Rpc,
  content: StellarOperationsContent,
  { sequence, policies }: SimulationLimits,
  options: CallOptions,
): Promise<Simulation | Refusal> {
  const [operation] = content.operations;
  if (operation === undefined) throw new Error('content without operations');
  const transaction = transactionFrom({ ...content, sequence, feeStroops: 100n });
  const envelope = xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx: transaction, signatures: [] }));
  const answer = await rpc.call(questions.simulation(envelope.toXdr('base64')), options).catch((error: unknown): Refusal => {
    if (!(error instanceof NodeError)) throw error;
    if (error.isAboutNode) throw nodeUnavailable(error);
    // A simulation that fails is a result. An error of the call says something about the node, in words that may be unknown.
    return { refused: 'rejected', sentence: `the RPC node answered "${error.message}"`, lasting: false };
  });
  if ('refused' in answer) return answer;
  if ('error' in answer) return refusal(`the simulation failed: ${answer.error}`);
  if ((answer.restores || answer.preamble !== null) && !policies.restoreArchived)
    return {
      ...refusal("the contract call uses archived ledger entries, which the relayer's policy restore_archived forbids to restore"),
      refused: 'not_allowed',
    };
  // Its fee would not count.
  if (answer.preamble !== null && content.maxCost !== undefined)
    return {
      ...refusal(
        `the contract call uses archived ledger entries; restore them first, since max_cost of the rule ${content.maxCost.ruleId} is for the call alone`,
      ),
      refused: 'not_allowed',
    };
  if (answer.preamble !== null) {
    const sentence = 'the contract call uses archived ledger entries, which a transaction before it must restore';
    return { ...refusal(sentence), first: restoreBefore(content, answer, answer.preamble, policies) };
  }
  const { sorobanData, resourceFeeStroops, returned } = answer;
  const needsOtherAddress = answer.auth.some((entry) => entry.credentials.type !== 'sorobanCredentialsSourceAccount');
  const isGiven = content.auth === 'given';
  if (!isGiven && needsOtherAddress) return refusal(needsOtherSignature);
  const given = xdr.Operation.fromXdr(operation, 'base64');
  const ownAuth = authOf(given);
  if (isGiven && ownAuth !== null && ownAuth.length === 0 && answer.auth.length > 0) {
    return refusal('the contract call needs authorization, but its auth is of type none');
  }
  return {
    operation: isGiven ? operation : withAuth(given, answer.auth).toXdr('base64'),
    sorobanData,
    resourceFeeStroops,
    returned,
  };
}

const needsOtherSignature =
  'the contract call needs authorization by an address other than the source account; send its signed entries with auth of type xdr';

function refusal(sentence: string): Refusal {
  return { refused: 'reverts', sentence, lasting: true };
}

/** Returns the authorization entries; null if this kind of operation has none. */
function authOf(operation: xdr.Operation): xdr.SorobanAuthorizationEntry[] | null {
  const body = operation.body;
  return body.type === 'invokeHostFunction' ? body.invokeHostFunctionOp.auth : null;
}

/** Returns an operation without the authorization that a simulation gave it. */
export function withoutAuth(operation: xdr.Operation): xdr.Operation {
  return authOf(operation) === null ? operation : withAuth(operation, []);
}

function withAuth({ sourceAccount, body }: xdr.Operation, auth: readonly xdr.SorobanAuthorizationEntry[]): xdr.Operation {
  const { hostFunction } = xdr.expectUnionVariant(body, 'invokeHostFunction').invokeHostFunctionOp;
  const call = new xdr.InvokeHostFunctionOp({ hostFunction, auth: [...auth] });
  return new xdr.Operation({ sourceAccount, body: xdr.OperationBody.invokeHostFunction(call) });
}
