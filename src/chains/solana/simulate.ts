import type { Refusal } from '../../core/ports/chain/drafts.js';
import { max, min } from '../../core/records/bigints.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { Relayer } from '../../core/records/relayer.js';
import type { CallOptions } from '../rpc/call-router.js';
import { isNear, judgedTwice, type Third } from '../rpc/judged-twice.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { forbiddenChangeAfter } from './account-changes.js';
import { excessOf, impliesFee, maxFeeOf, namedFeeLamports } from './compute-budget.js';
import { errorName, failureSentence, type TransactionError } from './failure.js';
import { questions } from './questions.js';
import type { Simulation } from './read-simulation.js';
import { patientRefusal, type Waiting } from './verdict.js';
import { base64From, type Message, messageBytes, unsignedTransactionBytes } from './wire.js';

/** What to simulate. */
export interface SimulationRequest extends Waiting {
  readonly message: Message;
  /** The slot that the node must have reached. */
  readonly slot: bigint;
  readonly relayer: Relayer;
  /** True if a newer blockhash takes the place of the message's. Default: false. */
  readonly hasAnyBlockhash?: boolean;
}

/** A simulation that succeeded, and what the message costs. */
export interface Simulated extends Omit<Simulation, 'unitsConsumed'> {
  readonly feeLamports: bigint;
  /** What each endpoint says that counts; null: it does not report it. */
  readonly unitsConsumed: readonly (bigint | null)[];
}

/** Failures that end by themselves: a lock is released, a block has room again. */
const transientFailures: readonly string[] = [
  'AccountInUse',
  'ClusterMaintenance',
  'TooManyAccountLocks',
  'WouldExceedMaxBlockCostLimit',
  'WouldExceedMaxAccountCostLimit',
  'WouldExceedMaxVoteCostLimit',
  'WouldExceedAccountDataBlockLimit',
  'ResanitizationNeeded',
  'ProgramCacheHitMaxLimit',
  'CommitCancelled',
];
/** Failures of a payer without funds. */
const unfundedFailures: readonly string[] = ['AccountNotFound', 'InsufficientFundsForFee'];
/** Failures that a node which lags reports, too: a lookup table was created or extended a moment ago. */
const earlyFailures: readonly string[] = [
  'AddressLookupTableNotFound',
  'InvalidAddressLookupTableOwner',
  'InvalidAddressLookupTableData',
  'InvalidAddressLookupTableIndex',
  'SanitizeFailure',
];

/**
 * Simulates an unsigned message on the newest state, including unconfirmed blocks, so it sees transactions sent just before. Refuses
 * account changes that the policies do not allow, and a fee above the maximum. Two endpoints must agree on what refuses it, if two work;
 * one is enough to show a change. Throws `NODE_UNAVAILABLE`, also if no node knows the blockhash, because each may lag.
 */
export function simulate(rpc: Rpc, request: SimulationRequest): Promise<Simulated | Refusal> {
  const { message, slot, relayer } = request;
  const policies = onNetwork('solana', relayer.policies);
  const judge = async (options: CallOptions): Promise<Simulated | Refusal> => {
    const answer = await simulateChanges(rpc, request, options);
    if ('refused' in answer) return answer;
    const named = namedFeeLamports(message);
    // Some nodes leave the priority fee out.
    const reported = answer.feeLamports ?? (impliesFee(message) ? named : await readFee(rpc, message, slot, options));
    const feeLamports = max(reported, named);
    const maxFee = maxFeeOf(policies, message);
    if (feeLamports <= maxFee) return { ...answer, unitsConsumed: [answer.unitsConsumed], feeLamports };
    // The message does not imply this fee. The only endpoint cannot confirm it, so it must last.
    return { ...feeRefusal(feeLamports, maxFee, policies), ...(rpc.isSingle() ? { lasting: false, isDoubted: true } : {}) };
  };
  return judgedTwice(rpc, judge, together);
}

/**
 * What two simulations mean together. Too few units fail on chain, so the higher counts, unless a third endpoint contradicts it. The
 * account has what the more favourable one says: neither alone keeps a transaction waiting for funds.
 */
async function together(first: Simulated, second: Simulated, third: Third<Simulated>): Promise<Simulated> {
  const [one = null] = first.unitsConsumed;
  const [other = null] = second.unitsConsumed;
  return {
    ...first,
    feeLamports: min(first.feeLamports, second.feeLamports),
    unitsConsumed: one === null || other === null || isNear(one, other) ? [one, other] : await likeThird(one, other, third),
    after: higherOf(first.after, second.after),
    spentLamports: first.spentLamports === null || second.spentLamports === null ? null : min(first.spentLamports, second.spentLamports),
  };
}

/** Which of two counts of units, far apart, a third endpoint confirms; both if it confirms neither, or none works. */
async function likeThird(one: bigint, other: bigint, third: Third<Simulated>): Promise<readonly bigint[]> {
  const [word] = await third();
  const units = word === undefined || 'refused' in word ? undefined : word.unitsConsumed[0];
  const like = units == null ? [] : [one, other].filter((count) => isNear(count, units));
  return units == null || like.length === 0 ? [one, other] : [...like, units];
}

function higherOf(first: Simulated['after'], second: Simulated['after']): Simulated['after'] {
  if (first === null || second === null) return null;
  return second.lamports > first.lamports ? second : first;
}

/**
 * Simulates a message that others may send at any time, with any blockhash. Returns why it must not be signed, by the word of one endpoint
 * or of two as for `simulate`; its fee is not judged. Null: nothing speaks against it. Throws `NODE_UNAVAILABLE`.
 */
export async function whyUnsafe(rpc: Rpc, message: Message, relayer: Relayer): Promise<Refusal | null> {
  const request = { message, slot: 0n, relayer, isDeniedLong: () => true, hasAnyBlockhash: true };
  const answer = await judgedTwice(
    rpc,
    (options) => simulateChanges(rpc, request, options),
    (first) => first,
  );
  return 'refused' in answer ? answer : null;
}

/** Refuses a fee above the maximum. */
export function feeRefusal(feeLamports: bigint, maxFeeLamports: bigint, policies: Parameters<typeof excessOf>[2]): Refusal {
  return { refused: 'above_cap', sentence: `the transaction ${excessOf(feeLamports, maxFeeLamports, policies)}`, lasting: true };
}

async function readFee(rpc: Rpc, message: Message, slot: bigint, options: CallOptions): Promise<bigint> {
  const fee = await rpc.ask(questions.fee(base64From(messageBytes(message)), slot), options);
  if (fee === null) throw nodeUnavailable(new Error('the node does not know the blockhash'));
  return fee;
}

/** Refuses account changes that the policies do not allow. */
async function simulateChanges(rpc: Rpc, request: SimulationRequest, options: CallOptions): Promise<Simulation | Refusal> {
  const answer = await simulateOnce(rpc, request, options);
  if ('refused' in answer) return answer;
  const forbidden = forbiddenChangeAfter(answer, request.relayer);
  return forbidden === null ? answer : { refused: 'not_allowed', sentence: `the transaction ${forbidden}`, lasting: true };
}

async function simulateOnce(rpc: Rpc, request: SimulationRequest, options: CallOptions): Promise<Simulation | Refusal> {
  const { message, slot, relayer, hasAnyBlockhash = false } = request;
  const question = questions.simulation(base64From(unsignedTransactionBytes(message)), slot, relayer.address, hasAnyBlockhash);
  try {
    const { error, logs, ...simulation } = await rpc.call(question, options);
    // A transaction that already landed (the caller's transaction had the relayer's signature) is tracked like any other.
    if (error === null || errorName(error) === 'AlreadyProcessed') return simulation;
    return refusalFrom(error, logs, request);
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    if (error.isAboutNode) throw nodeUnavailable(error);
    // A transaction that nodes cannot parse fails permanently; any other refusal may be temporary. Neither blocks other transactions.
    const sentence = `the network rejects the transaction: the node answered "${error.message}"`;
    return error.code === invalidParams ? patientRefusal(sentence, request) : { refused: 'reverts', sentence, lasting: false };
  }
}

const invalidParams = -32602;

function refusalFrom(error: TransactionError, logs: readonly string[], request: SimulationRequest): Refusal {
  const name = errorName(error);
  const sentence = failureSentence(error, logs);
  if (name === 'BlockhashNotFound') throw nodeUnavailable(new Error('the node does not know the blockhash'));
  if (unfundedFailures.includes(name) || leavesPayerBelowRent(error)) {
    const unfunded = `insufficient balance: the account cannot pay for the transaction (${sentence})`;
    return { refused: 'insufficient_funds', sentence: unfunded, lasting: false };
  }
  if (name === 'InvalidAccountForFee') return { refused: 'unusable', sentence: 'the account cannot pay fees', lasting: false };
  const fails = `the transaction would fail: ${sentence}`;
  if (earlyFailures.includes(name)) return patientRefusal(fails, request);
  return { refused: 'reverts', sentence: fails, lasting: !transientFailures.includes(name) };
}

/** True if the payer (account 0) would keep less than the rent-exempt minimum. */
function leavesPayerBelowRent(error: TransactionError): boolean {
  return JSON.stringify(error) === '{"InsufficientFundsForRent":{"account_index":0}}';
}
