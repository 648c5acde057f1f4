import { objectFrom } from '../rpc/answer.js';
import type { Rpc } from '../rpc/rpc.js';
import { failureSentence, transactionErrorFrom } from './failure.js';
import { linesFrom } from './simulate.js';
import { statusesCall } from './statuses.js';

/** Why a transaction failed on the chain, with what its programs logged where the node keeps that. Never throws. */
export async function whyFailed(rpc: Rpc, signature: string): Promise<string> {
  const sentence = (await withLogs(rpc, signature).catch(() => null)) ?? (await withoutLogs(rpc, signature).catch(() => null));
  return sentence === null ? 'failed on chain' : `failed on chain: ${sentence}`;
}

function withLogs(rpc: Rpc, signature: string): Promise<string | null> {
  const config = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 };
  return rpc.call('getTransaction', [signature, config], sentenceFrom, { first: 'head' });
}

async function withoutLogs(rpc: Rpc, signature: string): Promise<string | null> {
  const { method, params, read } = statusesCall([signature], false);
  const { value } = await rpc.call(method, params, read, { first: 'head' });
  const error = value[0]?.error ?? null;
  return error === null ? null : failureSentence(error, []);
}

function sentenceFrom(answer: unknown): string | null {
  if (answer === null) return null;
  const { meta } = objectFrom(answer, 'transaction');
  const { err, logMessages } = objectFrom(meta, 'transaction meta');
  const error = transactionErrorFrom(err);
  return error === null ? null : failureSentence(error, linesFrom(logMessages));
}
