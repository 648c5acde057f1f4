import { setTimeout as delay } from 'node:timers/promises';
import type { RelayerClient, TransactionRecord } from '../support/relayer-client.js';
import { untilRecord } from './until.js';

/** A service may read the chain a moment after it has changed. */
const greatestLagMs = 2_000;
const betweenSendsMs = 250;

/**
 * Sends until a record says why it waits: then the service has seen the obstacle. Transactions prepared just before may take a nonce.
 * Resolves to the waiting one, then the others; fails if there are more others than a moment explains.
 */
export async function untilHeld(
  client: RelayerClient,
  send: () => Promise<TransactionRecord | undefined>,
  saysWhy: (record: TransactionRecord) => boolean,
): Promise<readonly [TransactionRecord, ...TransactionRecord[]]> {
  const early: TransactionRecord[] = [];
  const deadline = Date.now() + greatestLagMs;
  for (;;) {
    const probe = await send();
    if (probe === undefined) throw new Error('nothing was sent');
    const isDecided = (record: TransactionRecord): boolean => record.nonce !== null || saysWhy(record);
    const record = await untilRecord(client, probe.id, 'a send to be held back, or to go', isDecided);
    if (saysWhy(record)) return [record, ...early];
    early.push(record);
    if (Date.now() > deadline) throw new Error(`${early.length} sends took a nonce in ${greatestLagMs} ms in which none might go`);
    await delay(betweenSendsMs);
  }
}
