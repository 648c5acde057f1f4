import { Transaction } from 'ethers';
import type { Ask, RpcAnswer, RpcCall } from './rpc-proxy.js';

interface PooledTransaction {
  readonly hash: string;
  readonly gasPrice?: string;
  readonly maxFeePerGas?: string;
  readonly maxPriorityFeePerGas?: string;
}

/**
 * Sends a raw transaction to the node as reth does: one that is to replace another must bid more than 110 % of it, in max fee and in priority each.
 * anvil itself is content with one wei more.
 */
export async function sendStrictly(call: RpcCall, ask: Ask): Promise<Exclude<RpcAnswer, null>> {
  const wanted = Transaction.from(String(call.params[0]));
  const pooled = await pooledIn(ask, wanted.from ?? '', wanted.nonce);
  if (pooled === undefined || pooled.hash === wanted.hash) return ask(call);
  const raises = (bid: bigint | null, earlier: string | undefined): boolean => (bid ?? 0n) * 10n > BigInt(earlier ?? 0) * 11n;
  const isEnough =
    raises(wanted.maxFeePerGas ?? wanted.gasPrice, pooled.maxFeePerGas ?? pooled.gasPrice) &&
    raises(wanted.maxPriorityFeePerGas ?? wanted.gasPrice, pooled.maxPriorityFeePerGas ?? pooled.gasPrice);
  return isEnough ? ask(call) : { error: { code: -32000, message: 'replacement transaction underpriced' } };
}

/** What the node's pool holds in a slot. */
async function pooledIn(ask: Ask, account: string, nonce: number): Promise<PooledTransaction | undefined> {
  const answer = await ask({ method: 'txpool_content', params: [] });
  if ('error' in answer) throw new Error(answer.error.message);
  const { pending, queued } = answer.result as Record<'pending' | 'queued', Record<string, Record<string, PooledTransaction>>>;
  for (const part of [pending, queued]) {
    for (const [address, byNonce] of Object.entries(part)) {
      if (address.toLowerCase() === account.toLowerCase() && byNonce[nonce] !== undefined) return byNonce[nonce];
    }
  }
  return undefined;
}
