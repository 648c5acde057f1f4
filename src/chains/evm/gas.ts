import type { Refusal } from '../../core/ports/chain/drafts.js';
import type { CallOptions } from '../rpc/call-router.js';
import type { First } from '../rpc/endpoint-selector.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { isBlockUnknown } from './dialect.js';
import { isExecutionFailure, isRevert } from './execution-failure.js';
import { isFundsShort, isGasLimit, isInvalidForBlocks, questions, type SimulatedCall } from './questions.js';
import { type DecodeError, reasonFromNodeError } from './revert.js';

/**
 * Estimates the gas that the transaction uses, or reports why it cannot run. `block`: a number, as JSON-RPC writes it, or a tag. Words that
 * no rule knows, and a limit that may be the node's own, count only if every endpoint answers so. Throws `NODE_UNAVAILABLE`, also if an
 * endpoint does not have the block and none can estimate.
 */
export async function estimateGas(rpc: Rpc, call: SimulatedCall, block: string, options: CallOptions = {}): Promise<bigint | Refusal> {
  if (takesOneParameter.has(rpc)) return (await estimateAt(rpc, call, null, options)).answer;
  const first = await estimateAt(rpc, call, block, options);
  if (!first.isAboutParameters) return first.answer;
  const { answer } = await estimateAt(rpc, call, null, options);
  // The same words about one parameter may be about the transaction.
  if (typeof answer === 'bigint') takesOneParameter.add(rpc);
  return answer;
}

interface Estimated {
  readonly answer: bigint | Refusal;
  /** The words may be about the block, and not about the transaction. */
  readonly isAboutParameters?: boolean;
}

async function estimateAt(rpc: Rpc, call: SimulatedCall, block: string | null, options: CallOptions): Promise<Estimated> {
  const doubted: NodeError[] = [];
  const { isAnswer, ...asked } = questions.gasEstimate(call, block);
  const isKnown = (error: NodeError): boolean => {
    if (isAnswer(error)) return true;
    doubted.push(error);
    return false;
  };
  try {
    return { answer: await rpc.call({ ...asked, isAnswer: isKnown }, { ...options, unanimous: 'all' }) };
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    const known = knownRefusal(error);
    if (known !== null && known.refused !== 'gas_limit') return { answer: known };
    const rejected = { refused: 'rejected', sentence: `the RPC node answered "${error.message}"`, lasting: false } as const;
    if (block !== null && doubted.some(isAboutParameters)) return { answer: known ?? rejected, isAboutParameters: true };
    // A node in trouble, or without the block, says nothing about the transaction.
    if (doubted.some(saysNothing)) throw nodeUnavailable(error);
    return { answer: known ?? rejected };
  }
}

/** Networks whose nodes take no block for an estimate, such as Metis and old erigon. */
const takesOneParameter = new WeakSet<Rpc>();

/** Invalid parameters. Also geth's words if they come with another code. */
function isAboutParameters({ code, message }: NodeError): boolean {
  return code === -32602 || /too many arguments|invalid (?:params|arguments?)|parameters? (?:count|number)/i.test(message);
}

function saysNothing(error: NodeError): boolean {
  return knownRefusal(error) === null && ((error.isAboutNode && !isAboutParameters(error)) || isBlockUnknown(error.message));
}

/**
 * Runs the transaction with this gas limit. Returns the node's text if it can never be in a block, for example because its creation code is
 * too long; null otherwise, also if execution fails: a caller who gives a gas limit may want that. Throws `NODE_UNAVAILABLE`.
 */
export async function findRejection(
  rpc: Rpc,
  call: SimulatedCall,
  gasLimit: bigint,
  block: string,
  options: CallOptions,
): Promise<string | null> {
  try {
    return await rpc.call(questions.dryRun(call, gasLimit, block), options);
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    if (isRevert(error)) return null;
    if (isInvalidForBlocks(error.message)) return error.message;
    // A failing node gives no second opinion. In a first one its error rejects nothing, since some nodes answer so if execution fails.
    const isNoOpinion = typeof options.first === 'object' && error.isAboutNode;
    if (isNoOpinion || isBlockUnknown(error.message)) throw nodeUnavailable(error);
    return null;
  }
}

/** EIP-7825's limit of gas per transaction, on networks that apply it. */
export const maxTransactionGas = 2n ** 24n;

/**
 * Creation code that needs slightly more than `maxTransactionGas` without taking time: it reads memory at 2,944,000 (PUSH3 MLOAD STOP),
 * which costs
 * 16.8 million gas.
 */
const beyondTransactionLimit = '0x622cec005100';

/**
 * Reports whether the network applies EIP-7825, by estimating a transaction that needs more. An `eth_estimateGas` or `eth_call` with a high
 * gas limit would not show it, since geth lowers that limit and answers. Only the words with this limit mean that it applies: some nodes
 * have lower limits of their own for estimates. Unknown too if no node gives a sane answer: no transaction waits for it.
 */
export async function readTransactionLimit(rpc: Rpc, account: string, first: First = 'head'): Promise<'in force' | 'absent' | 'unknown'> {
  const call = { from: account, to: null, valueWei: 0n, data: beyondTransactionLimit };
  try {
    const block = takesOneParameter.has(rpc) ? null : 'latest';
    const gas = await rpc.call(questions.gasEstimate(call, block), { first });
    return gas > maxTransactionGas ? 'absent' : 'unknown';
  } catch (error) {
    return error instanceof NodeError && error.message.includes(String(maxTransactionGas)) ? 'in force' : 'unknown';
  }
}

/** The refusal that a node's words stand for; null: they are unknown. `decode` reads errors of the contract's own. */
export function knownRefusal(error: NodeError, decode?: DecodeError): Refusal | null {
  if (isRevert(error)) return reverts(error, decode);
  if (isFundsShort(error.message)) {
    return { refused: 'insufficient_funds', sentence: `insufficient balance: the node answered "${error.message}"`, lasting: false };
  }
  if (isGasLimit(error.message)) {
    return { refused: 'gas_limit', sentence: 'the transaction needs more gas than the network allows', lasting: true };
  }
  return isExecutionFailure(error) ? reverts(error, decode) : null;
}

function reverts(error: NodeError, decode?: DecodeError): Refusal {
  const reason = reasonFromNodeError(error, decode);
  const sentence = reason === null ? 'the transaction would revert' : `the transaction would revert: ${reason}`;
  return { refused: 'reverts', sentence, lasting: true };
}
