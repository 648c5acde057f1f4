import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Store } from '../../src/core/ports/store/store.js';
import { laneOf, type Relayer } from '../../src/core/records/relayer.js';
import { isFinal, type Transaction } from '../../src/core/records/transaction.js';
import { createFeed, type Feed } from '../../src/core/transaction/feed.js';
import { removeOldest } from '../../src/core/transaction/transaction-cleaner.js';
import { type WatchMessage, watchTransactions } from '../../src/core/transaction/watch-transactions.js';
import { openStore } from '../../src/storage/open-store.js';
import { restore } from '../../src/storage/restore.js';
import { createRandom } from '../support/seeded-random.js';
import { aTransaction, next, silentLog } from '../support/stored-samples.js';

/** Longer than any test. */
const noHeartbeatMs = 600_000;
const expired = { kind: 'precondition', reason: 'RESUME_TOKEN_EXPIRED' };

/** What watches deliver on every store. */
export function watchContract(name: string, newDatabaseUrl: () => Promise<string>): void {
  describe(`${name}: watches`, () => {
    let feed: Feed;
    let databaseUrl: string;
    let store: Store;
    let count = 0;

    before(async () => {
      databaseUrl = await newDatabaseUrl();
      store = (await openStore(databaseUrl, { log: silentLog })).store;
      feed = createFeed(store.read);
    });
    after(() => store.close());

    /** Each test has a relayer of its own. */
    function newRelayer(): Relayer {
      count += 1;
      return { id: `watched-${count}`, address: `0x${count}`, network: { type: 'evm', chainId: 31337n } } as unknown as Relayer;
    }

    async function write(change: 'insert' | 'update', ...transactions: readonly Transaction[]): Promise<void> {
      const { insertTransaction, updateTransaction } = store.change;
      await store.commit(
        transactions.map((transaction) =>
          change === 'insert' ? insertTransaction(transaction) : updateTransaction(transaction, { endedAtMs: 1 }),
        ),
      );
      for (const transaction of transactions) feed.publish({ transaction, shown: null });
    }

    function transactionOf(relayer: Relayer, id: string, over: Partial<Transaction> = {}): Transaction {
      return aTransaction({ ...laneOf(relayer), id: `${relayer.id}-${id}`, relayerId: relayer.id, ...over });
    }

    function watch(relayer: Relayer, resumeToken: string | null = null, over: { transactionId?: string; heartbeatMs?: number } = {}) {
      const { transactionId = null, heartbeatMs = noHeartbeatMs } = over;
      const end = new AbortController();
      const deps = { read: store.read, feed, heartbeatMs };
      const messages = watchTransactions(deps, { relayer, transactionId, resumeToken }, end.signal);
      return { next: async () => (await messages.next()).value ?? undefined, end: () => end.abort(), messages };
    }

    /** Reads messages up to the next of this kind, and ends the watch. */
    async function readTo(kind: WatchMessage['kind'], ...args: Parameters<typeof watch>): Promise<readonly WatchMessage[]> {
      const watching = watch(...args);
      const messages: WatchMessage[] = [];
      for (let message = await watching.next(); message !== undefined; message = await watching.next()) {
        messages.push(message);
        if (message.kind === kind) break;
      }
      watching.end();
      return messages;
    }

    const shortIdOf = (message: WatchMessage) => {
      if (message.kind !== 'transaction') return message.kind;
      const { id, revision, status } = message.changed.view.transaction;
      return `${id.split('-').at(-1)} ${status} ${revision}`;
    };
    const tokenAfter = (messages: readonly WatchMessage[]) => messages.at(-1)?.resumeToken() ?? assert.fail('no message');

    test('a relayer: the open transactions by acceptance, snapshot_complete, then the changes', async () => {
      const relayer = newRelayer();
      await write('insert', transactionOf(relayer, 'a'), transactionOf(relayer, 'b', { status: 'failed' }), transactionOf(relayer, 'c'));
      await write('update', next(transactionOf(relayer, 'a'), { status: 'sent' }));
      const watching = watch(relayer);
      const seen = [await watching.next(), await watching.next(), await watching.next()];
      await write('insert', transactionOf(relayer, 'd'));
      await write('update', next(transactionOf(relayer, 'c'), { status: 'canceled' }));
      seen.push(await watching.next(), await watching.next());
      watching.end();
      const texts = seen.map((message) => (message === undefined ? 'the end' : shortIdOf(message)));
      assert.deepEqual(texts, ['a sent 2', 'c pending 1', 'snapshot_complete', 'd pending 1', 'c canceled 2']);
      assert.equal(await watching.next(), undefined);
    });

    test('a relayer without transactions: snapshot_complete comes at once, and its token resumes', async () => {
      const relayer = newRelayer();
      const messages = await readTo('snapshot_complete', relayer);
      assert.deepEqual(messages.map(shortIdOf), ['snapshot_complete']);
      await write('insert', transactionOf(relayer, 'a', { status: 'failed' }));
      const resumed = await readTo('snapshot_complete', relayer, tokenAfter(messages));
      assert.deepEqual(resumed.map(shortIdOf), ['a failed 1', 'snapshot_complete']);
    });

    test('a token delivers every record that changed since, final ones included, in the order of their last changes', async () => {
      const relayer = newRelayer();
      await write('insert', transactionOf(relayer, 'a'), transactionOf(relayer, 'b'), transactionOf(relayer, 'c'));
      const token = tokenAfter(await readTo('snapshot_complete', relayer));
      await write('update', next(transactionOf(relayer, 'b'), { status: 'confirmed' }));
      await write('update', next(transactionOf(relayer, 'a'), { status: 'sent' }));
      const resumed = await readTo('snapshot_complete', relayer, token);
      assert.deepEqual(resumed.map(shortIdOf), ['b confirmed 2', 'a sent 2', 'snapshot_complete']);
      const nothing = await readTo('snapshot_complete', relayer, tokenAfter(resumed));
      assert.deepEqual(nothing.map(shortIdOf), ['snapshot_complete']);
    });

    test('a token from the middle of a snapshot delivers its rest', async () => {
      const relayer = newRelayer();
      const all = Array.from({ length: 65 }, (_, index) => transactionOf(relayer, `${index}`));
      await write('insert', ...all);
      const watching = watch(relayer);
      const begun: WatchMessage[] = [];
      while (begun.length < 30) begun.push((await watching.next()) ?? assert.fail('it ended'));
      watching.end();
      const changed = all[50] ?? assert.fail();
      await write('update', next(changed, { status: 'failed' }));
      const rest = await readTo('snapshot_complete', relayer, tokenAfter(begun));
      const places = rest.flatMap((message) => (message.kind === 'transaction' ? [Number(shortIdOf(message).split(' ')[0])] : []));
      assert.deepEqual(places, [...Array.from({ length: 35 }, (_, index) => index + 30).filter((index) => index !== 50), 50]);
    });

    test('one transaction: its record, its changes, and the end when it is final', async () => {
      const relayer = newRelayer();
      const first = transactionOf(relayer, 'a');
      await write('insert', first, transactionOf(relayer, 'b'));
      const watching = watch(relayer, null, { transactionId: first.id });
      const seen = [await watching.next()];
      const sent = next(first, { status: 'sent' });
      await write('update', sent);
      await write('update', next(transactionOf(relayer, 'b'), { status: 'sent' }));
      seen.push(await watching.next());
      await write('update', next(sent, { status: 'confirmed' }));
      seen.push(await watching.next());
      const texts = seen.map((message) => (message === undefined ? 'the end' : shortIdOf(message)));
      assert.deepEqual(texts, ['a pending 1', 'a sent 2', 'a confirmed 3']);
      assert.equal(await watching.next(), undefined);
      const [, second] = seen;
      const resumed = await readTo('heartbeat', relayer, second?.resumeToken() ?? '', { transactionId: first.id });
      assert.deepEqual(resumed.map(shortIdOf), ['a confirmed 3']);
    });

    test('one transaction, resumed without a change since: a heartbeat comes at once', async () => {
      const relayer = newRelayer();
      const transaction = transactionOf(relayer, 'a');
      await write('insert', transaction);
      const [record] = await readTo('transaction', relayer, null, { transactionId: transaction.id });
      const resumed = await readTo('heartbeat', relayer, record?.resumeToken() ?? '', { transactionId: transaction.id });
      assert.deepEqual(resumed.map(shortIdOf), ['heartbeat']);
    });

    test('a silent watch sends heartbeats, whose tokens resume', async () => {
      const relayer = newRelayer();
      const watching = watch(relayer, null, { heartbeatMs: 1 });
      const messages = [await watching.next(), await watching.next(), await watching.next()];
      watching.end();
      assert.deepEqual(
        messages.map((message) => message?.kind),
        ['snapshot_complete', 'heartbeat', 'heartbeat'],
      );
      await write('insert', transactionOf(relayer, 'a'));
      const resumed = await readTo('snapshot_complete', relayer, messages[2]?.resumeToken());
      assert.deepEqual(resumed.map(shortIdOf), ['a pending 1', 'snapshot_complete']);
    });

    test('a change that nothing publishes arrives with the next heartbeat', async () => {
      const relayer = newRelayer();
      const watching = watch(relayer, null, { heartbeatMs: 1 });
      assert.equal((await watching.next())?.kind, 'snapshot_complete');
      await store.commit([store.change.insertTransaction(transactionOf(relayer, 'a'))]);
      let message = await watching.next();
      while (message?.kind === 'heartbeat') message = await watching.next();
      watching.end();
      assert.equal(message && shortIdOf(message), 'a pending 1');
    });

    test('a reader that does not read causes no reads and holds nothing; it then gets the last state of each record', async () => {
      const relayer = newRelayer();
      let current = transactionOf(relayer, 'a');
      await write('insert', current);
      let reads = 0;
      const counted: Store['read'] = {
        ...store.read,
        changesAfter: (...args) => {
          reads += 1;
          return store.read.changesAfter(...args);
        },
      };
      const end = new AbortController();
      const deps = { read: counted, feed, heartbeatMs: noHeartbeatMs };
      const messages = watchTransactions(deps, { relayer, transactionId: null, resumeToken: null }, end.signal);
      const seen = [await messages.next(), await messages.next()];
      const readsBefore = reads;
      for (let change = 0; change < 300; change += 1) {
        current = next(current, { statusReason: `reason ${change}` });
        await write('update', current);
      }
      assert.equal(reads, readsBefore);
      seen.push(await messages.next());
      end.abort();
      const texts = seen.map(({ value }) => (value === undefined ? 'the end' : shortIdOf(value)));
      assert.deepEqual(texts, ['a pending 1', 'snapshot_complete', 'a pending 301']);
    });

    test('a watch ends if its signal aborted before it began', async () => {
      const relayer = newRelayer();
      const watching = watch(relayer);
      watching.end();
      const messages: unknown[] = [];
      for await (const { kind } of watching.messages) messages.push(kind);
      assert.deepEqual(messages, ['snapshot_complete']);
    });

    test('a token of another relayer, transaction or database, and garbage, are refused with the reason', async () => {
      const relayer = newRelayer();
      const other = newRelayer();
      const transaction = transactionOf(relayer, 'a');
      await write('insert', transaction);
      const token = tokenAfter(await readTo('snapshot_complete', relayer));
      await assert.rejects(readTo('snapshot_complete', other, token), expired);
      await assert.rejects(readTo('transaction', relayer, token, { transactionId: transaction.id }), expired);
      const later = Buffer.from(JSON.stringify([await store.read.databaseId(), relayer.id, null, 999, null])).toString('base64url');
      const elsewhere = Buffer.from(JSON.stringify(['another', relayer.id, null, 1, null])).toString('base64url');
      const garbage = ['x', '%%%', `${token}x`, token.slice(1), 'A'.repeat(100_000), Buffer.from('[1,2]').toString('base64url')];
      for (const bad of [later, elsewhere, ...garbage]) await assert.rejects(readTo('snapshot_complete', relayer, bad), expired);
    });

    test('a token from before the removal of a record that changed since has expired; later ones are valid', async () => {
      const relayer = newRelayer();
      await write('insert', transactionOf(relayer, 'a'));
      const early = tokenAfter(await readTo('snapshot_complete', relayer));
      await write('update', next(transactionOf(relayer, 'a'), { status: 'failed' }));
      const later = tokenAfter(await readTo('snapshot_complete', relayer));
      const oldest = await store.read.oldestTransactions(relayer.id, 10);
      await store.commit(removeOldest(store.change, relayer.id, oldest, 2).changes);
      await assert.rejects(readTo('snapshot_complete', relayer, early), expired);
      assert.deepEqual((await readTo('snapshot_complete', relayer, later)).map(shortIdOf), ['snapshot_complete']);
      // Positions continue although no transaction is left.
      await write('insert', transactionOf(relayer, 'b'));
      assert.deepEqual((await readTo('snapshot_complete', relayer, later)).map(shortIdOf), ['b pending 1', 'snapshot_complete']);
    });

    test('generated changes, with watches cut and resumed at any message: none is missed, and revisions only grow', async () => {
      const random = createRandom(11);
      for (let round = 0; round < 12; round += 1) {
        const relayer = newRelayer();
        const stored = new Map<string, Transaction>();
        const delivered = new Map<string, number>();
        let token: string | null = null;
        let watching = watch(relayer);
        const changeSome = async (): Promise<void> => {
          const open = [...stored.values()].filter(({ status }) => !isFinal(status));
          const chosen = open[random.between(0, open.length - 1)];
          const change =
            chosen === undefined || random.chance(0.3)
              ? transactionOf(relayer, `${stored.size}`)
              : next(chosen, { status: random.chance(0.3) ? 'confirmed' : 'sent' });
          stored.set(change.id, change);
          await write(chosen === undefined || change.revision === 1 ? 'insert' : 'update', change);
        };
        const read = async (): Promise<WatchMessage> => {
          const message = (await watching.next()) ?? assert.fail('it ended');
          token = message.resumeToken();
          if (message.kind !== 'transaction') return message;
          const { id, revision } = message.changed.view.transaction;
          assert.ok(revision >= (delivered.get(id) ?? 0), 'a revision went back');
          delivered.set(id, revision);
          return message;
        };
        const isBehind = () => [...stored.values()].some(({ id, revision }) => delivered.get(id) !== revision);
        // Without a token, what is final already is not delivered.
        await read();
        for (let step = 0; step < 60; step += 1) {
          if (random.chance(0.6)) await changeSome();
          else if (isBehind()) await read();
          if (random.chance(0.2)) {
            watching.end();
            watching = watch(relayer, token);
          }
        }
        while (isBehind()) await read();
        watching.end();
      }
    });

    test('a watch over a restart and a restore: the same database resumes, a restored one refuses', async () => {
      const relayer = newRelayer();
      const token = tokenAfter(await readTo('snapshot_complete', relayer));
      await write('insert', transactionOf(relayer, 'a', { status: 'failed' }));
      await store.close();
      store = (await openStore(databaseUrl, { log: silentLog })).store;
      assert.deepEqual((await readTo('snapshot_complete', relayer, token)).map(shortIdOf), ['a failed 1', 'snapshot_complete']);
      await store.close();
      await restore(databaseUrl, null, silentLog);
      store = (await openStore(databaseUrl, { log: silentLog })).store;
      await assert.rejects(readTo('snapshot_complete', relayer, token), expired);
    });
  });
}
