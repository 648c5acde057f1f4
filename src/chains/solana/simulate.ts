import type { Refusal } from '../../core/ports/chain.js';
import { objectFrom } from '../rpc/answer.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { atSlotFrom, integerFrom } from './answer.js';
import { failureSentence, linesFrom, nameOf, type TransactionError, transactionErrorFrom } from './failure.js';

/** What running it would give. */
export interface Simulation {
  readonly unitsConsumed: bigint;
}

/** Failures that pass: the payer is filled, a lock is given back, the cluster is up again. */
const passingFailures: readonly string[] = [
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
/** What a payer without money meets. */
const unpaidFailures: readonly string[] = ['AccountNotFound', 'InsufficientFundsForFee', 'InvalidAccountForFee'];

/**
 * Runs an unsigned transaction on the newest state, that of blocks which are not confirmed included, so that it sees what was sent just
 * before it. Resolves to why it cannot run where it fails. `slot`: that the node must have reached. Throws `NODE_UNAVAILABLE`, also where
 * the node does not know the blockhash: it may lag.
 */
export async function simulate(rpc: Rpc, transaction: Uint8Array, slot: bigint): Promise<Simulation | Refusal> {
  const config = { encoding: 'base64', commitment: 'processed', sigVerify: false, minContextSlot: Number(slot) };
  const params = [Buffer.from(transaction).toString('base64'), config];
  try {
    const { error, logs, unitsConsumed } = await rpc.call('simulateTransaction', params, simulationFrom, { first: 'head' });
    // One that is on the chain already (the relayer's signature was in the caller's transaction) is followed like any other.
    if (error === null || nameOf(error) === 'AlreadyProcessed') return { unitsConsumed };
    return refusalFrom(error, logs);
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    if (error.isAboutNode) throw nodeUnavailable(error);
    // What nodes cannot even read stays so; anything else may pass. Neither holds up other transactions.
    const sentence = `the network does not take the transaction: the node answered "${error.message}"`;
    return { refused: 'reverts', sentence, lasting: error.code === invalidParams };
  }
}

const invalidParams = -32602;

function refusalFrom(error: TransactionError, logs: readonly string[]): Refusal {
  const name = nameOf(error);
  const sentence = failureSentence(error, logs);
  if (name === 'BlockhashNotFound') throw nodeUnavailable(new Error('the node does not know the blockhash'));
  if (unpaidFailures.includes(name) || leavesPayerBelowRent(error)) {
    return { refused: 'insufficient_funds', sentence: `insufficient funds: the account cannot pay it (${sentence})`, lasting: false };
  }
  return { refused: 'reverts', sentence: `the transaction would fail: ${sentence}`, lasting: !passingFailures.includes(name) };
}

/** The payer, the first of all accounts, would keep something, but less than an account must hold. */
function leavesPayerBelowRent(error: TransactionError): boolean {
  return JSON.stringify(error) === '{"InsufficientFundsForRent":{"account_index":0}}';
}

interface SimulationAnswer {
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint;
}

function simulationFrom(answer: unknown): SimulationAnswer {
  const { value } = atSlotFrom(answer, 'simulation', (held) => objectFrom(held, 'simulation'));
  const { err, logs, unitsConsumed } = value;
  return {
    error: transactionErrorFrom(err),
    logs: linesFrom(logs),
    unitsConsumed: unitsConsumed === undefined || unitsConsumed === null ? 0n : integerFrom(unitsConsumed, 'consumed units'),
  };
}
