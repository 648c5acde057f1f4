import type { Receipt } from '../../core/ports/chain.js';
import { type Answer, hashFrom, objectFrom, quantityFrom } from './answer.js';
import { NodeError } from './node-error.js';
import { reasonFromNodeError } from './revert.js';
import type { Rpc } from './rpc.js';

/** Revert data beyond this is cut, in bytes. */
const greatestRevertDataBytes = 2048;

/**
 * Where the transaction was mined; null when the node knows no block that holds it. The reason of a failed one is looked for by running it
 * again on its block, which not every node can: without it the reason is null. Throws `NODE_UNAVAILABLE`.
 */
export async function readReceipt(rpc: Rpc, hash: string): Promise<Receipt | null> {
  const answer = await rpc.ask('eth_getTransactionReceipt', [hash]);
  if (answer === null) return null;
  const receipt = objectFrom(answer, 'receipt');
  // Some nodes answer for a pending transaction, without a block.
  if (receipt.blockHash === null || receipt.blockNumber === null) return null;
  const succeeded = quantityFrom(receipt.status, 'receipt status') === 1n;
  const found = {
    hash: hashFrom(receipt.transactionHash, 'transaction hash'),
    blockNumber: quantityFrom(receipt.blockNumber, 'block number'),
    blockHash: hashFrom(receipt.blockHash, 'block hash'),
    succeeded,
  };
  if (succeeded) return { ...found, revertReason: null };
  return { ...found, ...(await whyItFailed(rpc, hash, receipt)) };
}

async function whyItFailed(rpc: Rpc, hash: string, receipt: Answer): Promise<Pick<Receipt, 'revertReason' | 'revertData'>> {
  try {
    const sent = objectFrom(await rpc.call('eth_getTransactionByHash', [hash]), 'transaction');
    const call = {
      from: sent.from,
      value: sent.value,
      gas: sent.gas,
      data: sent.input,
      ...(sent.to === null ? {} : { to: sent.to }),
    };
    await rpc.call('eth_call', [call, receipt.blockNumber]);
    return { revertReason: null };
  } catch (error) {
    if (!(error instanceof NodeError)) return { revertReason: null };
    const revertData = error.data?.slice(0, 2 + 2 * greatestRevertDataBytes);
    const hasData = revertData !== undefined && revertData !== '0x';
    return { revertReason: reasonFromNodeError(error), ...(hasData ? { revertData } : {}) };
  }
}
