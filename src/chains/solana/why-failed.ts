import { objectFrom } from '../rpc/answer.js';
import type { Rpc } from '../rpc/rpc.js';
import { failureSentence, transactionErrorFrom } from './failure.js';
import { linesFrom } from './simulate.js';

/** Why a transaction failed on the chain, with what its programs logged. Null where the nodes cannot tell. Never throws. */
export async function whyFailed(rpc: Rpc, signature: string): Promise<string | null> {
  const config = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 };
  try {
    return await rpc.call('getTransaction', [signature, config], sentenceFrom, { first: 'head' });
  } catch {
    return null;
  }
}

function sentenceFrom(answer: unknown): string | null {
  if (answer === null) return null;
  const { meta } = objectFrom(answer, 'transaction');
  const { err, logMessages } = objectFrom(meta, 'transaction meta');
  const error = transactionErrorFrom(err);
  return error === null ? null : failureSentence(error, linesFrom(logMessages));
}
