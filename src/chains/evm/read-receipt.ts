import type { Receipt } from '../../core/ports/chain/outcomes.js';
import type { MinedFacts } from '../../core/records/transaction.js';
import { type Answer, listFrom, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import { hashFrom, quantityFrom } from './answer.js';

/** Reads the receipts of a block, without unreadable ones. Throws `MalformedAnswerError` if none of them is one. */
export function blockReceiptsFrom(result: unknown): readonly Receipt[] {
  const listed = listFrom(result, 'block receipts');
  const receipts = listed.flatMap((one) => {
    const receipt = receiptFrom(one);
    return receipt === null || receipt === 'unreadable' ? [] : receipt;
  });
  if (receipts.length === 0 && listed.length > 0) throw new MalformedAnswerError('list of block receipts');
  return receipts;
}

/**
 * Reads a receipt; null if the transaction is in no block. `unreadable`: it could be misread, so that the block itself has to show that it
 * contains the transaction.
 */
export function receiptFrom(result: unknown): Receipt | 'unreadable' | null {
  try {
    const receipt = objectFrom(result, 'receipt');
    // Some nodes return a receipt without a block for a pending transaction.
    if (receipt.blockHash === null || receipt.blockNumber === null) return null;
    return {
      hash: hashFrom(receipt.transactionHash, 'transaction hash'),
      blockNumber: numberFrom(receipt.blockNumber, 'block number'),
      blockHash: hashFrom(receipt.blockHash, 'block hash'),
      succeeded: statusFrom(receipt),
      facts: factsFrom(receipt),
    };
  } catch (error) {
    if (error instanceof MalformedAnswerError) return 'unreadable';
    throw error;
  }
}

/** Reads a quantity that some nodes write as a JSON number, which cannot be misread. */
function numberFrom(value: unknown, what: string): bigint {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : quantityFrom(value, what);
}

/** Reads `status`: 1 or 0, as a quantity, a number or a boolean. Without it, logs prove that the transaction succeeded. */
function statusFrom({ status, logs }: Answer): boolean {
  if (typeof status === 'boolean') return status;
  if (status !== undefined && status !== null) {
    const code = numberFrom(status, 'receipt status');
    if (code === 0n || code === 1n) return code === 1n;
  } else if (Array.isArray(logs) && logs.length > 0) return true;
  throw new MalformedAnswerError('receipt status');
}

/**
 * Returns the gas that the transaction used and the fee that it paid. A malformed fact is unknown: it must not keep the transaction from
 * being settled.
 */
function factsFrom({ gasUsed, effectiveGasPrice, l1Fee, operatorFeeScalar, operatorFeeConstant }: Answer): MinedFacts {
  const used = amountFrom(gasUsed);
  const priceWei = amountFrom(effectiveGasPrice);
  // The fee that a rollup charges on top of gas to publish the transaction.
  const l1FeeWei = amountFrom(l1Fee ?? '0x0');
  // OP stack networks can charge an operator fee too. Receipts have only its parameters, and its formula depends on the network's version.
  const hasOperatorFee = [operatorFeeScalar, operatorFeeConstant].some((parameter) => amountFrom(parameter ?? '0x0') !== 0n);
  const feePaid = used === null || priceWei === null || l1FeeWei === null || hasOperatorFee ? null : used * priceWei + l1FeeWei;
  return { gasUsed: used !== null && used < 2n ** 64n ? used : null, feePaid, returnValueXdr: null };
}

function amountFrom(value: unknown): bigint | null {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  return typeof value === 'string' && /^0x[0-9a-f]{1,32}$/i.test(value) ? BigInt(value) : null;
}
