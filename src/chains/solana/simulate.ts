import type { Refusal } from '../../core/ports/chain.js';
import { objectFrom } from '../rpc/answer.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { atSlotFrom, integerFrom } from './answer.js';
import { errorName, failureSentence, linesFrom, type TransactionError, transactionErrorFrom } from './failure.js';

/** The result of a successful simulation. */
export interface Simulation {
  /** Null: the node does not report it. */
  readonly unitsConsumed: bigint | null;
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
const unfundedFailures: readonly string[] = ['AccountNotFound', 'InsufficientFundsForFee', 'InvalidAccountForFee'];

/**
 * Simulates an unsigned transaction on the newest state, including unconfirmed blocks, so it sees transactions sent just before. The node
 * must have reached `slot`. Throws `NODE_UNAVAILABLE`, also if the node does not know the blockhash, because it may lag.
 */
export async function simulate(rpc: Rpc, transaction: Uint8Array, slot: bigint): Promise<Simulation | Refusal> {
  const config = { encoding: 'base64', commitment: 'processed', sigVerify: false, minContextSlot: Number(slot) };
  const params = [Buffer.from(transaction).toString('base64'), config];
  try {
    const { error, logs, unitsConsumed } = await rpc.call('simulateTransaction', params, simulationFrom, { first: 'head' });
    // A transaction that already landed (the caller's transaction had the relayer's signature) is tracked like any other.
    if (error === null || errorName(error) === 'AlreadyProcessed') return { unitsConsumed };
    return refusalFrom(error, logs);
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    if (error.isAboutNode) throw nodeUnavailable(error);
    // A transaction that nodes cannot parse fails permanently; any other refusal may be temporary. Neither blocks other transactions.
    const sentence = `the network rejects the transaction: the node answered "${error.message}"`;
    return { refused: 'reverts', sentence, lasting: error.code === invalidParams };
  }
}

const invalidParams = -32602;

function refusalFrom(error: TransactionError, logs: readonly string[]): Refusal {
  const name = errorName(error);
  const sentence = failureSentence(error, logs);
  if (name === 'BlockhashNotFound') throw nodeUnavailable(new Error('the node does not know the blockhash'));
  if (unfundedFailures.includes(name) || leavesPayerBelowRent(error)) {
    const unfunded = `insufficient balance: the account cannot pay for the transaction (${sentence})`;
    return { refused: 'insufficient_funds', sentence: unfunded, lasting: false };
  }
  return { refused: 'reverts', sentence: `the transaction would fail: ${sentence}`, lasting: !transientFailures.includes(name) };
}

/** True if the payer (account 0) would keep less than the rent-exempt minimum. */
function leavesPayerBelowRent(error: TransactionError): boolean {
  return JSON.stringify(error) === '{"InsufficientFundsForRent":{"account_index":0}}';
}

interface SimulationAnswer {
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint | null;
}

function simulationFrom(answer: unknown): SimulationAnswer {
  const { value } = atSlotFrom(answer, 'simulation', (simulation) => objectFrom(simulation, 'simulation'));
  const { err, logs, unitsConsumed } = value;
  return {
    error: transactionErrorFrom(err),
    logs: linesFrom(logs),
    unitsConsumed: unitsConsumed === undefined || unitsConsumed === null ? null : integerFrom(unitsConsumed, 'consumed units'),
  };
}
