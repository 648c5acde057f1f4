import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Store } from '../../../src/core/ports/store/store.js';
import { startTransactionCleaner } from '../../../src/core/transaction/transaction-cleaner.js';
import { openStore } from '../../../src/storage/open-store.js';
import { aTransaction, silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { waitFor } from '../../support/wait-for.js';

const hourMs = 3_600_000;

describe('transaction cleaner', () => {
  let store: Store;
  after(() => store.close());

  /** Transactions of a relayer that ended at these times, null: not yet. */
  async function insert(relayerId: string, endedAtMs: readonly (number | null)[]): Promise<void> {
    const { change } = store;
    for (let from = 0; from < endedAtMs.length; from += 200) {
      await store.commit(
        endedAtMs.slice(from, from + 200).map((ended, index) => {
          const id = `${relayerId}-${from + index}`;
          return change.insertTransaction(
            aTransaction({ id, relayerId, ...(ended === null ? { status: 'pending' } : { status: 'confirmed', updatedAtMs: ended }) }),
          );
        }),
      );
    }
  }

  async function totalOf(relayerId: string): Promise<number> {
    return (await store.read.transactionsOf(relayerId, [], { offset: 0, limit: 1 })).total;
  }

  it('transaction cleaner: deletes old final transactions of every relayer, in batches, past open ones', async () => {
    store = (await openStore(`sqlite:${await temporaryFolder()}/relayer.db`, { log: silentLog })).store;
    await insert('many', [...Array<null>(250).fill(null), ...Array<number>(400).fill(1), 10 * hourMs]);
    await insert('few', [1, null, 10 * hourMs]);
    const clock = { nowMs: () => 11 * hourMs };
    const lines: object[] = [];
    const log = { ...silentLog, info: (fields: object) => void lines.push(fields) };
    const cleaner = startTransactionCleaner({ store, clock, log, expirationHours: 1.5 });
    await waitFor('the cleaning', async () => (lines.length > 0 ? true : undefined));
    await cleaner.stop();
    assert.deepEqual([await totalOf('many'), await totalOf('few')], [251, 2]);
    assert.deepEqual(lines, [{ removed: 401, expirationHours: 1.5 }]);
    const { items } = await store.read.transactionsOf('many', [], { offset: 249, limit: 10 });
    assert.deepEqual(
      items.map(({ transaction }) => transaction.id),
      ['many-1', 'many-0'],
    );
  });
});
