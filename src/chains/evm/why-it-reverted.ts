import { type Answer, objectFrom } from '../rpc/answer.js';
import { NodeError } from '../rpc/node-error.js';
import type { Asking, Rpc } from '../rpc/rpc.js';
import { quantityOf } from './answer.js';
import { isExecutionFailure, reasonFromNodeError } from './revert.js';

/** Revert data beyond this is cut, in bytes. */
const greatestRevertDataBytes = 2048;
const asking: Asking = { first: 'head' };

/** What is known of a revert. */
export interface RevertReason {
  readonly reason: string | null;
  /** Lower-case hex with `0x`; null when it is empty or not known. */
  readonly data: string | null;
}

const notKnown: RevertReason = { reason: null, data: null };

/**
 * Runs a reverted transaction again, on the state after its block and, where that does not fail, on the state before it; neither is the very state it
 * ran on, which no common call gives. Whatever goes wrong, it is just not known.
 */
export async function whyItReverted(rpc: Rpc, hash: string, blockNumber: bigint): Promise<RevertReason> {
  try {
    const read = (answer: unknown): Answer | null => (answer === null ? null : objectFrom(answer, 'transaction'));
    const sent = await rpc.call('eth_getTransactionByHash', [hash], read, asking);
    if (sent === null) return notKnown;
    const { from, value, gas, input: data, to } = sent;
    const call = { from, value, gas, data, ...(to === null ? {} : { to }) };
    for (const block of blockNumber > 0n ? [blockNumber, blockNumber - 1n] : [blockNumber]) {
      const found = await run(rpc, call, quantityOf(block));
      if (found !== null) return found;
    }
    return notKnown;
  } catch {
    return notKnown;
  }
}

/** Null when it does not fail there, or the node cannot say. */
async function run(rpc: Rpc, call: object, block: string): Promise<RevertReason | null> {
  try {
    await rpc.call('eth_call', [call, block], () => undefined, asking);
    return null;
  } catch (error) {
    if (!(error instanceof NodeError) || !isExecutionFailure(error)) return null;
    const data = error.data?.slice(0, 2 + 2 * greatestRevertDataBytes) ?? null;
    return { reason: reasonFromNodeError(error), data: data === '0x' ? null : data };
  }
}
