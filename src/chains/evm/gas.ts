import type { Refusal } from '../../core/ports/chain.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { CallOptions, Rpc } from '../rpc/rpc.js';
import { quantityFrom, quantityOf } from './answer.js';
import { isExecutionFailure, reasonFromNodeError } from './revert.js';

/** Computes the gas charged before execution: 21000, or 53000 for a creation, plus call data by EIP-2028 (4 or 16 per byte). */
export function intrinsicGas(isCreation: boolean, data: string | null): bigint {
  const { zeros, others } = countBytes(data);
  return (isCreation ? 53_000n : 21_000n) + 4n * zeros + 16n * others;
}

/**
 * Computes a gas limit with which every network accepts the transaction, even if execution then fails. It covers EIP-7623's floor for call data (10 or
 * 40 per byte) and EIP-3860's price of creation code (2 per word).
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

/** The state to estimate on: the newest block, or that plus the node's pool. */
export type StateTag = 'latest' | 'pending';

/** Estimates the gas that the transaction uses, or reports why it cannot run. Throws `NODE_UNAVAILABLE`. */
export async function estimateGas(rpc: Rpc, question: GasQuestion, state: StateTag, options: CallOptions = {}): Promise<bigint | Refusal> {
  const { from, to, valueWei, data } = question;
  // Nodes call the field `data` or `input`; all of them accept `data`.
  const call = { from, value: quantityOf(valueWei), ...(to === null ? {} : { to }), ...(data === null ? {} : { data }) };
  try {
    return await rpc.call('eth_estimateGas', [call, state], (answer) => quantityFrom(answer, 'gas estimate'), options);
  } catch (error) {
    if (error instanceof NodeError) return refusalFrom(error);
    throw error;
  }
}

function refusalFrom(error: NodeError): Refusal {
  if (/insufficient (?:funds|balance)|exceeds (?:account )?balance/i.test(error.message)) {
    return { refused: 'insufficient_funds', sentence: `insufficient funds: the node answered "${error.message}"`, lasting: false };
  }
  if (/gas required exceeds allowance|exceeds block gas limit|gas limit is too high/i.test(error.message)) {
    return { refused: 'gas_limit', sentence: 'the transaction needs more gas than the network allows', lasting: true };
  }
  if (isExecutionFailure(error)) {
    const reason = reasonFromNodeError(error);
    const sentence = reason === null ? 'the transaction would revert' : `the transaction would revert: ${reason}`;
    return { refused: 'reverts', sentence, lasting: true };
  }
  // An unknown error says nothing about the transaction, so it decides nothing.
  throw nodeUnavailable(error);
}
