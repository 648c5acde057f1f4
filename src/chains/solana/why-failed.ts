import type { Rpc } from '../rpc/rpc.js';
import { failureSentence } from './failure.js';
import { questions } from './questions.js';

/** Describes why a transaction failed on chain, with its program log if the node keeps it. Never throws. */
export async function whyFailed(rpc: Rpc, signature: string): Promise<string> {
  const sentence = (await withLogs(rpc, signature).catch(() => null)) ?? (await withoutLogs(rpc, signature).catch(() => null));
  return sentence === null ? 'failed on chain' : `failed on chain: ${sentence}`;
}

async function withLogs(rpc: Rpc, signature: string): Promise<string | null> {
  const found = await rpc.call(questions.transaction(signature));
  return found?.error == null ? null : failureSentence(found.error, found.logs);
}

async function withoutLogs(rpc: Rpc, signature: string): Promise<string | null> {
  const { value } = await rpc.call(questions.statuses([signature], false, rpc.newestNumber()));
  const error = value[0]?.error ?? null;
  return error === null ? null : failureSentence(error, []);
}
