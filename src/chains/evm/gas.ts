import type { Refusal } from '../../core/ports/chain.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { CallOptions, Rpc } from '../rpc/rpc.js';
import { quantityFrom, quantityOf } from './answer.js';
import { isBlockUnknown } from './dialect.js';
import { isExecutionFailure, reasonFromNodeError } from './revert.js';

/** Computes the gas charged before execution: 21000, or 53000 for a creation, plus call data by EIP-2028 (4 or 16 per byte). */
export function intrinsicGas(isCreation: boolean, data: string | null): bigint {
  const { zeros, others } = countBytes(data);
  return (isCreation ? 53_000n : 21_000n) + 4n * zeros + 16n * others;
}

/**
 * Computes a gas limit with which every network accepts the transaction, even if execution then fails. It covers EIP-7623's floor for call
 * data (10 or 40 per byte) and EIP-3860's price of creation code (2 per word).
 */
export function gasAcceptedEverywhere(isCreation: boolean, data: string | null): bigint {
  const { zeros, others } = countBytes(data);
  const floor = 21_000n + 10n * zeros + 40n * others;
  const words = (zeros + others + 31n) / 32n;
  const intrinsic = intrinsicGas(isCreation, data) + (isCreation ? 2n * words : 0n);
  return intrinsic > floor ? intrinsic : floor;
}

function countBytes(data: string | null): { readonly zeros: bigint; readonly others: bigint } {
  const bytes = Buffer.from(data?.slice(2) ?? '', 'hex');
  let zeros = 0;
  for (const byte of bytes) if (byte === 0) zeros += 1;
  return { zeros: BigInt(zeros), others: BigInt(bytes.length - zeros) };
}

/** The transaction to estimate. */
export interface GasQuestion {
  readonly from: string;
  readonly to: string | null;
  readonly valueWei: bigint;
  readonly data: string | null;
}

/**
 * Estimates the gas that the transaction uses, or reports why it cannot run. `block`: a number, as JSON-RPC writes it, or a tag. Unknown
 * words count only if every endpoint answers so. Throws `NODE_UNAVAILABLE`, also if an endpoint does not have the block and none can
 * estimate.
 */
export async function estimateGas(rpc: Rpc, question: GasQuestion, block: string, options: CallOptions = {}): Promise<bigint | Refusal> {
  const doubted: NodeError[] = [];
  const isAboutNode = (error: NodeError): boolean => {
    if (!error.isAboutNode && !mayBeOfOneNode(error)) return false;
    doubted.push(error);
    return true;
  };
  try {
    const asking = { ...options, unanimous: true, isAboutNode };
    return await rpc.call('eth_estimateGas', [callOf(question), block], (answer) => quantityFrom(answer, 'gas estimate'), asking);
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    const known = knownRefusal(error);
    if (known !== null && known.refused !== 'gas_limit') return known;
    // A node in trouble, or without the block, says nothing about the transaction.
    if (doubted.some(saysNothing)) throw nodeUnavailable(error);
    return known ?? { refused: 'rejected', sentence: `the RPC node answered "${error.message}"`, lasting: false };
  }
}

function saysNothing(error: NodeError): boolean {
  return knownRefusal(error) === null && (error.isAboutNode || isBlockUnknown(error.message));
}

/** True for unknown words, and for a limit of gas: a node may limit its own estimates, such as geth with `--rpc.gascap`. */
function mayBeOfOneNode(error: NodeError): boolean {
  const known = knownRefusal(error);
  return known === null || known.refused === 'gas_limit';
}

function callOf({ from, to, valueWei, data }: GasQuestion): object {
  // Nodes call the field `data` or `input`; all of them accept `data`.
  return { from, value: quantityOf(valueWei), ...(to === null ? {} : { to }), ...(data === null ? {} : { data }) };
}

/**
 * Runs the transaction with this gas limit. Returns the node's text if it can never be in a block, for example because its creation code is
 * too long; null otherwise, also if execution fails: a caller who gives a gas limit may want that. Throws `NODE_UNAVAILABLE`.
 */
export async function findRejection(
  rpc: Rpc,
  question: GasQuestion,
  gasLimit: bigint,
  block: string,
  options: CallOptions,
): Promise<string | null> {
  try {
    return await rpc.call('eth_call', [{ ...callOf(question), gas: quantityOf(gasLimit) }, block], () => null, options);
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    // A failing node gives no second opinion. In a first one its error rejects nothing, since some nodes answer so if execution fails.
    const isNoOpinion = typeof options.first === 'object' && error.isAboutNode;
    if (isNoOpinion || isBlockUnknown(error.message)) throw nodeUnavailable(error);
    return invalidForBlocks.test(error.message) ? error.message : null;
  }
}

// geth "intrinsic gas too low: ...", "insufficient gas for floor data gas cost: ...", "max initcode size exceeded: ..."; erigon
// "IntrinsicGas", "initcode too large"; reth and anvil as geth. A limit that is too high is not among them: reth says so if it exceeds the
// node's own limit for calls.
const invalidForBlocks = /intrinsic ?gas|floor data gas|init ?code/i;

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
 * have lower limits of their own for estimates. Throws `NODE_UNAVAILABLE`.
 */
export async function readTransactionLimit(rpc: Rpc, account: string): Promise<'in force' | 'absent' | 'unknown'> {
  const call = callOf({ from: account, to: null, valueWei: 0n, data: beyondTransactionLimit });
  try {
    const gas = await rpc.call('eth_estimateGas', [call, 'latest'], (answer) => quantityFrom(answer, 'gas estimate'), { first: 'head' });
    return gas > maxTransactionGas ? 'absent' : 'unknown';
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    return error.message.includes(String(maxTransactionGas)) ? 'in force' : 'unknown';
  }
}

/** The refusal that a node's words stand for; null: they are unknown. */
function knownRefusal(error: NodeError): Refusal | null {
  if (/insufficient (?:funds|balance)|exceeds (?:account )?balance/i.test(error.message)) {
    return { refused: 'insufficient_funds', sentence: `insufficient balance: the node answered "${error.message}"`, lasting: false };
  }
  if (/gas required exceeds allowance|exceeds block gas limit|gas limit is too high/i.test(error.message)) {
    return { refused: 'gas_limit', sentence: 'the transaction needs more gas than the network allows', lasting: true };
  }
  if (isExecutionFailure(error)) {
    const reason = reasonFromNodeError(error);
    const sentence = reason === null ? 'the transaction would revert' : `the transaction would revert: ${reason}`;
    return { refused: 'reverts', sentence, lasting: true };
  }
  return null;
}
