import type { RelayerClient, TransactionRecord } from '../support/relayer-client.js';

/** The receiver of payments: anvil's second account. */
const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
/** The receiver of replacements: anvil's third account. */
export const otherReceiver = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';

/** A transfer whose value is unique in the run. */
export interface Payment {
  readonly to: string;
  /** Decimal wei. */
  readonly value: string;
  readonly speed: 'fast';
}

/** Makes the payment that has this number. */
export function paymentOf(index: number): Payment {
  return { to: receiver, value: String(1_000_000 + index), speed: 'fast' };
}

/** Sends payments at once; fails unless each is answered 200. */
export async function sendAll(client: RelayerClient, indexes: readonly number[]): Promise<readonly TransactionRecord[]> {
  return Promise.all(indexes.map((index) => sendOne(client, paymentOf(index))));
}

/** Sends one payment; fails unless it is answered 200. */
export async function sendOne(client: RelayerClient, payment: Payment): Promise<TransactionRecord> {
  const { status, text, record } = await client.send(payment);
  if (record === null) throw new Error(`a send was answered ${status}: ${text}`);
  return record;
}

/** The integers from `first` on. */
export function numbersFrom(first: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}
