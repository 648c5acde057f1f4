import type { Refusal } from '../../core/ports/chain.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Asking, Rpc } from '../rpc/rpc.js';
import { quantityFrom, quantityOf } from './answer.js';
import { isExecutionFailure, reasonFromNodeError } from './revert.js';

/** What is estimated. */
export interface GasQuestion {
  readonly from: string;
  readonly to: string | null;
  readonly valueWei: bigint;
  readonly data: string | null;
}

/** On top of which state: the newest block, or also what waits in the node's pool. */
export type StateTag = 'latest' | 'pending';

/** The gas that the transaction would use, or why it cannot run. Throws `NODE_UNAVAILABLE`. */
export async function estimateGas(rpc: Rpc, question: GasQuestion, state: StateTag, asking: Asking = {}): Promise<bigint | Refusal> {
  const { from, to, valueWei, data } = question;
  // Both names of the data are in use among nodes; `data` is understood by all.
  const call = { from, value: quantityOf(valueWei), ...(to === null ? {} : { to }), ...(data === null ? {} : { data }) };
  try {
    return await rpc.call('eth_estimateGas', [call, state], (answer) => quantityFrom(answer, 'gas estimate'), asking);
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
    return { refused: 'gas_limit', sentence: 'the transaction would use more gas than the network allows', lasting: true };
  }
  if (isExecutionFailure(error)) {
    const reason = reasonFromNodeError(error);
    const sentence = reason === null ? 'the transaction would revert' : `the transaction would revert: ${reason}`;
    return { refused: 'reverts', sentence, lasting: true };
  }
  // Not understood: nothing is known of the transaction, so nothing is decided.
  throw nodeUnavailable(error);
}
