import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Store } from '../../src/core/ports/store/store.js';
import { openStore } from '../../src/storage/open-store.js';
import type { Dialect } from '../../src/storage/sql/dialect.js';
import { migrationNames, releasedDump } from '../support/released-migrations.js';
import { aNotification, anApiKey, anAttempt, anEvent, aStoredResponse, aTransaction, silentLog } from '../support/stored-samples.js';

/** A database that nothing has opened. */
export interface RawDatabase {
  readonly databaseUrl: string;
  /** Runs one or more statements. */
  run(sql: string): Promise<void>;
  /** Returns one text per column and per index, in a fixed order. */
  schema(): Promise<readonly string[]>;
}

/** Accepts, signs and ends a transaction, beside the stored ones. */
async function use({ read, change, commit }: Store): Promise<void> {
  const accepted = aTransaction({ id: 'later', chain: 'evm:31337', account: '0xA' });
  await commit([change.insertTransaction(accepted)]);
  const signed = { ...accepted, status: 'sent', nonce: 8n, liveVersion: 1, revision: 2 } as const;
  const attempt = anAttempt({ transactionId: 'later', chain: 'evm:31337', account: '0xA', nonce: 8n, hash: '0x08' });
  await commit([change.moveLane(accepted, 8n, 9n), change.insertAttempt(attempt), change.updateTransaction(signed)]);
  await commit([change.updateTransaction({ ...signed, status: 'failed', failureReason: 'reverted', revision: 3 })]);
  const { transaction } = (await read.transaction('later')) ?? assert.fail('it is not stored');
  assert.deepEqual([transaction.status, transaction.nonce], ['failed', 8n]);
  assert.equal((await read.transactionsOf('relayer-1', ['failed'], { offset: 0, limit: 10 })).total, 2);
  assert.deepEqual(await read.changePositions('relayer-1'), { last: 5, removedThrough: 0 });
}

/** The upgrade of every release's database to this version. */
export function migrationContract(dialect: Dialect, newDatabase: () => Promise<RawDatabase>): void {
  describe(`${dialect.name}: upgrade from each release`, () => {
    for (const [index, name] of migrationNames.entries()) {
      test(`a database that ended at ${name} gets the schema of a new one, keeps its rows and takes new ones`, async () => {
        const fresh = await newDatabase();
        await (await openStore(fresh.databaseUrl, { log: silentLog })).store.close();
        const old = await newDatabase();
        await old.run(releasedDump(dialect, index + 1));
        const { store, migrations } = await openStore(old.databaseUrl, { log: silentLog });
        try {
          assert.deepEqual(migrations, migrationNames.slice(index + 1));
          const { read } = store;
          const content = {
            network: 'evm',
            to: null,
            valueWei: 5n,
            data: '0x00',
            gasLimit: null,
            pricing: { kind: 'speed', speed: 'fast' },
          };
          const page = await read.transactionsOf('relayer-1', [], { offset: 0, limit: 10 });
          assert.deepEqual(
            page.items.map(({ transaction, shown }) => [
              transaction.id,
              transaction.status,
              transaction.content,
              transaction.nonce,
              shown?.hash,
            ]),
            [
              ['failed', 'failed', content, null, undefined],
              ['sent', 'sent', content, 7n, '0x01'],
            ],
          );
          assert.equal((await read.transactionsOf('relayer-1', ['failed'], { offset: 0, limit: 10 })).total, 1);
          const lane = { chain: 'evm:31337', account: '0xA' };
          assert.equal((await read.openTransactions(lane))[0]?.attempts[0]?.raw, '0x02');
          assert.equal((await read.changesAfter('relayer-1', 1, 10))[0]?.view.transaction.id, 'failed');
          assert.deepEqual(await read.changePositions('relayer-1'), { last: 2, removedThrough: 0 });
          assert.equal(await read.databaseId(), 'database-1');
          assert.deepEqual([await read.nextNonce(lane), await read.genesisHash(lane.chain)], [8n, '0xaa']);
          const hook = aNotification({ id: 'hook', sealedSigningKey: 'v1.abc' });
          assert.deepEqual(await read.notification('hook'), hook);
          const event = anEvent({ id: 'event', orderKey: 'sent', body: '{"id":"event"}', attempts: 1, nextAttemptAtMs: 1_763_600_000_000 });
          const attempt = { attemptedAtMs: 1_763_600_000_000, durationMs: 12, httpStatus: 500, error: null, responseBody: 'why' };
          assert.deepEqual(await read.delivery('hook', 'event'), { event, attempts: [attempt] });
          const response = aStoredResponse({ fingerprint: 'abab' });
          assert.deepEqual(await read.storedResponse(response, 0), response);
          assert.deepEqual(await read.apiKeys(), [anApiKey({ id: 'key', digest: 'abab' })]);
          assert.deepEqual(await read.definitions('relayer'), [
            { kind: 'relayer', id: 'main', content: { name: 'main', cap: 9_007_199_254_740_993n }, sealed: 'v1.abc' },
          ]);
          assert.deepEqual(await read.fileEntries('notification'), [{ kind: 'notification', id: 'hook', revision: 1 }]);
          await use(store);
        } finally {
          await store.close();
        }
        assert.deepEqual(await old.schema(), await fresh.schema());
      });
    }

    test('the receivers of stored EVM transactions are found after the upgrade', async () => {
      const old = await newDatabase();
      await old.run(releasedDump(dialect, migrationNames.indexOf('0008-delays') + 1));
      await old.run(`update transactions set content = replace(content, '"to":null', '"to":"0xAb"') where id = 'failed'`);
      const { store } = await openStore(old.databaseUrl, { log: silentLog });
      try {
        const find = (receiver: string) =>
          store.read.filteredTransactions(['relayer-1'], { statuses: [], receiver }, { offset: 0, limit: 10 });
        assert.deepEqual(
          (await find('0xab')).items.map(({ transaction }) => transaction.id),
          ['failed'],
        );
      } finally {
        await store.close();
      }
    });
  });
}
