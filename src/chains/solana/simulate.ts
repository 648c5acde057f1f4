import { getBase58Encoder } from '@solana/kit';
import type { Refusal } from '../../core/ports/chain.js';
import type { Relayer } from '../../core/records/relayer.js';
import { listFrom, objectFrom } from '../rpc/answer.js';
import type { CallOptions } from '../rpc/call-router.js';
import { MalformedAnswerError, NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { withSecondWord } from '../rpc/second-word.js';
import { type AccountAfter, type Effects, forbiddenChangeAfter } from './account-changes.js';
import { atSlotFrom, integerFrom, textFrom } from './answer.js';
import { errorName, failureSentence, linesFrom, type TransactionError, transactionErrorFrom } from './failure.js';
import { base64From } from './wire.js';

/** The result of a successful simulation. */
export interface Simulation extends Effects {
  /** Null: the node does not report it. */
  readonly unitsConsumed: bigint | null;
}

/** What to simulate. */
export interface SimulationRequest {
  /** Unsigned, in wire format. */
  readonly transaction: Uint8Array;
  /** The slot that the node must have reached. */
  readonly slot: bigint;
  readonly relayer: Relayer;
  /** True if a lookup table or another part that nodes do not know yet has had time to appear. */
  readonly isPatienceOver: () => boolean;
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
 * Simulates an unsigned transaction on the newest state, including unconfirmed blocks, so it sees transactions sent just before. Refuses
 * account changes that the policies do not allow. A second endpoint must confirm what ends a transaction; that it shows no such change
 * allows none. Throws `NODE_UNAVAILABLE`, also if the node does not know the blockhash, because it may lag.
 */
export async function simulate(rpc: Rpc, request: SimulationRequest): Promise<Simulation | Refusal> {
  const judge = async (options: CallOptions): Promise<Simulation | Refusal> => {
    const answer = await simulateOnce(rpc, request, options);
    const forbidden = 'refused' in answer ? null : forbiddenChangeAfter(answer, request.relayer);
    return forbidden === null ? answer : { refused: 'not_allowed', sentence: `the transaction ${forbidden}`, lasting: true };
  };
  let notAllowed = null as Refusal | null;
  const { answer, isDoubted } = await withSecondWord(judge, (first) => {
    if ('refused' in first && first.refused === 'not_allowed') notAllowed = first;
    return 'refused' in first && first.lasting;
  });
  if (isDoubted && 'refused' in answer) return doubted(answer);
  if (notAllowed === null || ('refused' in answer && answer.refused === 'not_allowed')) return answer;
  // Another endpoint that shows no change contradicts the first: neither of them ends the transaction.
  return 'refused' in answer ? doubted(notAllowed) : { ...notAllowed, lasting: false };
}

function doubted(refusal: Refusal): Refusal {
  return { ...refusal, lasting: false, isDoubted: true };
}

async function simulateOnce(rpc: Rpc, request: SimulationRequest, options: CallOptions): Promise<Simulation | Refusal> {
  const { transaction, slot, relayer } = request;
  const config = {
    encoding: 'base64',
    commitment: 'processed',
    sigVerify: false,
    minContextSlot: Number(slot),
    innerInstructions: true,
    accounts: { encoding: 'base64', addresses: [relayer.address] },
  };
  const params = [base64From(transaction), config];
  try {
    const { error, logs, ...simulation } = await rpc.call({ method: 'simulateTransaction', params, read: simulationFrom }, options);
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

/** Refuses for as long as the node may only be behind. */
export function patientRefusal(sentence: string, { isPatienceOver }: Pick<SimulationRequest, 'isPatienceOver'>): Refusal {
  if (isPatienceOver()) return { refused: 'reverts', sentence, lasting: true };
  return { refused: 'reverts', sentence: `${sentence}; will fail if this does not change within 20 seconds`, lasting: false };
}

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

interface SimulationAnswer extends Simulation {
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
}

function simulationFrom(answer: unknown): SimulationAnswer {
  const { value } = atSlotFrom(answer, 'simulation', (simulation) => objectFrom(simulation, 'simulation'));
  const { err, logs, unitsConsumed, accounts, innerInstructions } = value;
  return {
    error: transactionErrorFrom(err),
    logs: linesFrom(logs),
    unitsConsumed: unitsConsumed === undefined || unitsConsumed === null ? null : integerFrom(unitsConsumed, 'consumed units'),
    after: accountAfterFrom(accounts),
    inner: innerFrom(innerInstructions),
  };
}

/** Null: the node reports no accounts, or not this one, which then is empty or was not loaded. */
function accountAfterFrom(accounts: unknown): AccountAfter | null {
  const [account] = listFrom(accounts ?? [], 'simulated accounts');
  return accountFrom(account ?? null, 'simulated account');
}

/** Reads an account in base64; null if it does not exist. */
export function accountFrom(account: unknown, what: string): AccountAfter | null {
  if (account === null) return null;
  const { lamports, owner, data } = objectFrom(account, what);
  const [text] = listFrom(data, 'account data');
  const dataBytes = Buffer.from(textFrom(text, 'account data'), 'base64').length;
  return { lamports: integerFrom(lamports, 'balance'), owner: textFrom(owner, 'owner'), dataBytes };
}

/** Reads the calls in both forms of a node: parsed, and as they are. */
function innerFrom(value: unknown): Effects['inner'] {
  return listFrom(value ?? [], 'inner instructions').flatMap((group) =>
    listFrom(objectFrom(group, 'inner instructions').instructions, 'inner instructions').map((one) => {
      const { programId, parsed, accounts, data } = objectFrom(one, 'inner instruction');
      const program = textFrom(programId, 'program');
      if (parsed === undefined) {
        const keys = listFrom(accounts, 'accounts').map((account) => textFrom(account, 'account'));
        return { program, accounts: keys, data: base58Bytes(textFrom(data, 'instruction data')) };
      }
      // The memo program's parsed form is a text.
      if (typeof parsed === 'string') return { program, type: '', info: {} };
      const { type, info } = objectFrom(parsed, 'inner instruction');
      return { program, type: textFrom(type, 'instruction type'), info: info === undefined ? {} : objectFrom(info, 'instruction info') };
    }),
  );
}

/** Decoding base58 takes time in the square of its length. */
const maxDataDigits = 2_000;

/** Null: too long to decode. */
function base58Bytes(text: string): Uint8Array | null {
  if (!/^[1-9A-HJ-NP-Za-km-z]*$/.test(text)) throw new MalformedAnswerError('instruction data');
  return text.length > maxDataDigits ? null : Uint8Array.from(getBase58Encoder().encode(text));
}
