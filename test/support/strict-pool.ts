import { Transaction } from 'ethers';
import type { Ask, RpcAnswer, RpcCall } from './rpc-proxy.js';

interface PooledTransaction {
  readonly hash: string;
  readonly gasPrice?: string;
  readonly maxFeePerGas?: string;
  readonly maxPriorityFeePerGas?: string;
}

/**
 * Sends a raw transaction to the node under reth's rule: a replacement must bid more than 110 % of the earlier one in max fee and in priority fee.
 * anvil itself accepts one wei more.
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

/** Returns the pooled transaction of a slot. */
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
