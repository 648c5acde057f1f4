import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { endWaiting } from '../../../src/core/transaction/end-waiting.js';
import { openStore } from '../../../src/storage/open-store.js';
import { anAttempt, aTransaction, next, sampleLane, silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

test('restore: ends every unsigned transaction and leaves signed ones to the chain', async () => {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  const waiting = Array.from({ length: 450 }, (_, index) => aTransaction({ id: `waiting-${String(index).padStart(3, '0')}` }));
  const signed = aTransaction({ id: 'signed' });
  const { change } = store;
  await store.commit([
    ...[...waiting, signed].map((transaction) => change.insertTransaction(transaction)),
    change.insertAttempt(anAttempt({ transactionId: 'signed' })),
    change.updateTransaction(next(signed, { status: 'sent', nonce: 0n, liveVersion: 1 })),
  ]);
  const result = await endWaiting(store, 1_000);
  assert.equal(result.ended.length, waiting.length);
  assert.deepEqual(
    result.signed.map(({ transaction, attempts }) => [transaction.id, attempts.length]),
    [['signed', 1]],
  );
  const open = await store.read.openTransactions(sampleLane);
  assert.deepEqual(
    open.map(({ transaction }) => transaction.id),
    ['signed'],
  );
  const restored = (await store.read.transaction('waiting-449'))?.transaction;
  assert.match(restored?.statusReason ?? '', /^restored from a backup/);
  assert.equal(restored?.failureReason, 'unresolvable');
  // So that the cleaner removes them later, like every final transaction.
  const ends = (await store.read.oldestTransactions(signed.relayerId, 500)).map(({ endedAtMs }) => endedAtMs);
  assert.deepEqual(ends, [...waiting.map(() => 1_000), null]);
  await store.close();
});
