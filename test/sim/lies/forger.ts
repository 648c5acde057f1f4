import { decodeTransaction } from '../evm/transaction.js';
import type { Call, Reply } from './liar.js';

/** Tells that each transaction is mined as soon as it is broadcast. */
export interface Forger {
  /** Returns the forged answer; null: this call gets the node's own. */
  answer(call: Call, own: (call: Call) => Reply): Reply | null;
}

interface Forged {
  readonly number: string;
  readonly hash: string;
  readonly nonce: bigint;
}

/** Makes a forger. */
export function createForger(): Forger {
  const forged = new Map<string, Forged>();

  /** The receipt names the block that is the newest now. */
  function forge(raw: string, own: (call: Call) => Reply): void {
    const { hash, nonce } = decodeTransaction(raw);
    const head = own({ id: 0, method: 'eth_getBlockByNumber', params: ['latest', false] }).result as Pick<Forged, 'number' | 'hash'>;
    if (!forged.has(hash)) forged.set(hash, { number: head.number, hash: head.hash, nonce: BigInt(nonce) });
  }

  return {
    answer(call, own) {
      const { id, method, params } = call;
      const [first, at] = params.map(String);
      if (method === 'eth_sendRawTransaction') forge(first ?? '', own);
      const made = forged.get(first ?? '');
      if (method === 'eth_getTransactionReceipt' && made !== undefined) {
        const amounts = { status: '0x1', gasUsed: '0x5208', effectiveGasPrice: '0x77359400' };
        return { id, jsonrpc: '2.0', result: { transactionHash: first, blockNumber: made.number, blockHash: made.hash, ...amounts } };
      }
      if (method !== 'eth_getTransactionCount') return null;
      const height = at?.startsWith('0x') === true ? BigInt(at) : null;
      const used = [...forged.values()].filter(({ number }) => height === null || BigInt(number) <= height).map(({ nonce }) => nonce + 1n);
      const reply = own(call);
      const next = used.reduce((most, one) => (one > most ? one : most), BigInt(String(reply.result)));
      return { ...reply, id, result: `0x${next.toString(16)}` };
    },
  };
}
