import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { createInterface } from 'node:readline';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Move } from '../../src/core/ports/lanes.js';
import { type Change, ConflictError } from '../../src/core/ports/store/change.js';
import type { PageQuery } from '../../src/core/ports/store/page.js';
import type { Store } from '../../src/core/ports/store/store.js';
import type { Definition } from '../../src/core/records/definition.js';
import type { OutboxEvent } from '../../src/core/records/notification.js';
import { openStatuses, type Transaction, type TransactionStatus } from '../../src/core/records/transaction.js';
import { transactionChanges } from '../../src/core/transaction/transaction-changes.js';
import { type AuditFilter, type AuditLine, auditLineId } from '../../src/core/work/audit-line.js';
import { DatabaseLockedError } from '../../src/storage/database/database-locked-error.js';
import { openApiKeys } from '../../src/storage/open-api-keys.js';
import { migrateDatabase, type OpenedStore, openStore } from '../../src/storage/open-store.js';
import { attemptsOf } from '../support/attempts-of.js';
import { evmRelayer } from '../support/evm.js';
import { migrationNames } from '../support/released-migrations.js';
import {
  aNotification,
  anApiKey,
  anAttempt,
  anEvent,
  aStoredResponse,
  aTransaction,
  next,
  sampleLane,
  silentLog,
} from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';

const holder = fileURLToPath(new URL('../support/hold-store.js', import.meta.url));
const huge = 2n ** 256n - 1n;

function open(databaseUrl: string): Promise<OpenedStore> {
  return openStore(databaseUrl, { log: silentLog });
}

/** Opens when the lock is free: the database notices the death of a holder after a moment. */
function openWhenFree(databaseUrl: string): Promise<OpenedStore> {
  return waitFor('the lock', () =>
    open(databaseUrl).catch((error: unknown) => {
      if (error instanceof DatabaseLockedError) return undefined;
      throw error;
    }),
  );
}

function ids(items: readonly { readonly transaction: Transaction }[]): string[] {
  return items.map(({ transaction }) => transaction.id);
}

async function conflictIn(commit: Promise<void>): Promise<string> {
  try {
    await commit;
  } catch (error) {
    if (error instanceof ConflictError) return error.change;
    throw error;
  }
  return 'nothing';
}

/** Starts a process that holds the store, and gathers the ids that it reports as committed. */
async function startHolder(
  test: TestContext,
  databaseUrl: string,
  commits: number,
): Promise<{ child: ChildProcess; acknowledged: string[] }> {
  const child = spawn(process.execPath, [holder, databaseUrl], { stdio: ['pipe', 'pipe', 'inherit'] });
  test.after(() => child.kill('SIGKILL'));
  const acknowledged: string[] = [];
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error('the holder ended by itself')));
    createInterface({ input: child.stdout }).on('line', (line) => {
      acknowledged.push(line);
      if (acknowledged.length === commits) resolve();
    });
  });
  return { child, acknowledged };
}

/** The behavior of every store. `newDatabaseUrl` returns the URL of a database that does not exist yet or is empty. */
export function storeContract(name: string, newDatabaseUrl: () => Promise<string>): void {
  describe(`${name}: a read returns what was written`, () => {
    let store: Store;
    before(async () => {
      store = (await open(await newDatabaseUrl())).store;
    });
    after(() => store.close());

    const full: Transaction = aTransaction({
      id: 'full',
      status: 'mined',
      statusReason: 'cut to 1 KiB “✓” 😀',
      intent: 'cancel',
      content: {
        network: 'evm',
        to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
        valueWei: huge,
        data: '0xdeadbeef',
        gasLimit: 2n ** 63n - 1n,
        pricing: { kind: 'eip1559', maxFeePerGasWei: huge, maxPriorityFeePerGasWei: 9_007_199_254_740_993n },
      },
      nonce: 2n ** 64n - 1n,
      liveVersion: 2,
      mined: { version: 1, blockNumber: 2n ** 64n + 1n, blockHash: `0x${'0f'.repeat(32)}`, succeeded: false, facts: null },
      sentAtMs: 1_763_600_000_001,
      confirmedAtMs: 1_763_600_000_002,
      validUntilMs: 8_640_000_000_000_000,
      approval: {
        ...{ ruleId: 'large', required: 10, senders: ['shop', 'bootstrap'], expiresAtMs: 8_640_000_000_000_000 },
        ...{ given: [{ apiKeyId: 'boss', atMs: 1_763_600_000_001 }], rejected: { apiKeyId: 'clerk', atMs: 1_763_600_000_002 } },
      },
      revision: 9_007_199_254_740_000,
    });
    const first = anAttempt({ transactionId: 'full', nonce: 2n ** 64n - 1n });
    const second = anAttempt({
      transactionId: 'full',
      version: 2,
      purpose: 'cancel',
      nonce: 2n ** 64n - 1n,
      hash: `0x${'ef'.repeat(32)}`,
      fields: { ...first.fields, to: null, data: '0x00', valueWei: huge, price: { kind: 'legacy', gasPriceWei: huge } },
    });

    test('reads the clock of the database, in whole milliseconds', async () => {
      const beforeMs = Date.now();
      const timeMs = await store.read.timeMs();
      assert.ok(Number.isInteger(timeMs) && timeMs >= beforeMs - 1_000 && timeMs <= Date.now() + 1_000, `${timeMs}`);
    });

    test('reads a transaction and its attempts with every field set', async () => {
      const { change, read } = store;
      await store.commit([change.insertTransaction(full), change.insertAttempt(first), change.insertAttempt(second)]);
      assert.deepEqual(await read.transaction('full'), { transaction: full, shown: first });
      assert.deepEqual(await attemptsOf(read, 'full'), [first, second]);
    });

    test('reads a transaction with only its required fields', async () => {
      const bare = aTransaction({ id: 'bare' });
      await store.commit([store.change.insertTransaction(bare)]);
      assert.deepEqual(await store.read.transaction('bare'), { transaction: bare, shown: null });
    });

    test('reads an unsequenced transaction with queued content and mined facts, and its attempts without a nonce', async () => {
      const facts = { gasUsed: 21_000n, feePaid: huge, returnValueXdr: 'AAAAAQ==' };
      const mined = { version: 1, blockNumber: 7n, blockHash: '0x07', succeeded: true, facts };
      const unsequenced = aTransaction({ id: 'unsequenced', status: 'mined', queued: full.content, liveVersion: 1, mined });
      const attempt = anAttempt({ transactionId: 'unsequenced', nonce: null, hash: 'a signature' });
      const { change, read } = store;
      await store.commit([change.insertTransaction(unsequenced), change.insertAttempt(attempt)]);
      assert.deepEqual(await read.transaction('unsequenced'), { transaction: unsequenced, shown: attempt });
      assert.deepEqual(await attemptsOf(read, 'unsequenced'), [attempt]);
      assert.equal(await read.transactionIdOf(attempt.chain, 'a signature'), 'unsequenced');
      assert.equal(await read.transactionIdOf(attempt.chain, first.hash), undefined, 'it has a nonce');
      const duplicate = anAttempt({ transactionId: 'bare', nonce: null, hash: 'a signature' });
      await assert.rejects(store.commit([change.insertAttempt(duplicate)]), (error) => error instanceof ConflictError);
    });

    test('a move of a transaction that the database has lost is a conflict, also one with a new attempt', async () => {
      const before = { transaction: aTransaction({ id: 'lost' }), attempts: [] };
      const clock = { nowMs: () => 1, elapsedMs: () => 1 };
      const newAttempt = anAttempt({ transactionId: 'lost', nonce: 7n });
      const move: Move = { steps: [{ ...before.transaction, nonce: 7n, liveVersion: 1 }], newAttempt };
      const { changes } = transactionChanges({ store, recordEvent: () => [], clock }, evmRelayer(before.transaction.account), before, move);
      assert.equal(await conflictIn(store.commit(changes)), 'updateTransaction');
    });

    test('updateTransaction writes every field that may change', async () => {
      const bare = aTransaction({ id: 'changing' });
      await store.commit([store.change.insertTransaction(bare)]);
      const { id, relayerId, chain, account, createdAtMs } = bare;
      const changed: Transaction = { ...full, id, relayerId, chain, account, createdAtMs, revision: 2 };
      await store.commit([store.change.updateTransaction(changed)]);
      assert.deepEqual((await store.read.transaction('changing'))?.transaction, changed);
      const backToNull = next(changed, { mined: null, statusReason: null, sentAtMs: null, validUntilMs: null, status: 'sent' });
      await store.commit([store.change.updateTransaction(backToNull)]);
      assert.deepEqual((await store.read.transaction('changing'))?.transaction, backToNull);
    });

    test('a record shows the mined attempt, and the live attempt after a reorg', async () => {
      const reorged = next(full, { mined: null, status: 'submitted' });
      await store.commit([store.change.updateTransaction(reorged)]);
      assert.deepEqual((await store.read.transaction('full'))?.shown, second);
    });

    test('reads notifications with and without a key', async () => {
      const keyed = aNotification({ id: 'keyed', sealedSigningKey: 'v1.abc', relayerIds: ['a', 'b'] });
      await store.commit([store.change.insertNotification(aNotification({ id: 'plain' })), store.change.insertNotification(keyed)]);
      const changed = {
        ...keyed,
        url: 'http://example.org/',
        sealedSigningKey: null,
        retiredKeys: [{ sealedSigningKey: 'v1.abc', retiredAtMs: 1_763_600_000_003 }],
        goneAtMs: 1_763_600_000_004,
        revision: 2,
      };
      assert.deepEqual(await store.read.notification('keyed'), keyed);
      await store.commit([store.change.updateNotification(changed)]);
      assert.deepEqual(await store.read.notifications({ offset: 0, limit: 10 }), {
        items: [changed, aNotification({ id: 'plain' })],
        total: 2,
      });
      assert.deepEqual(await store.read.notifications({ offset: 1, limit: 1 }), { items: [aNotification({ id: 'plain' })], total: 2 });
      assert.deepEqual(
        (await store.read.limitedNotifications()).map(({ id }) => id),
        ['keyed'],
      );
      assert.deepEqual(await store.read.notifications({ offset: 1e21, limit: 1 }), { items: [], total: 2 });
      const [newest, oldest] = (await store.read.notifications({ offset: 0, limit: 10 })).items;
      assert.deepEqual(await store.read.notifications({ offset: 0, limit: 10, after: newest?.id ?? '' }), { items: [oldest], total: 2 });
      assert.deepEqual(await store.read.notifications({ offset: 0, limit: 10, after: oldest?.id ?? '' }), { items: [], total: 2 });
    });

    test('reads the body of an event byte for byte', async () => {
      const event = anEvent({ id: 'exact', body: '{"a":1.0,"b":"\\u0000 ✓😀\\n"}', nextAttemptAtMs: 7, attempts: 3 });
      await store.commit([store.change.insertEvent(event)]);
      assert.deepEqual(await store.read.dueEvents('hook', 7, 1), [event]);
    });

    test('reads the entries of the configuration file', async () => {
      const entry = { kind: 'notification', id: 'from-file', revision: 1 } as const;
      const { change, read } = store;
      await store.commit([change.putFileEntry({ ...entry, id: 'another' }), change.putFileEntry(entry)]);
      await store.commit([change.putFileEntry({ ...entry, revision: 2 }), change.deleteFileEntry({ kind: 'notification', id: 'another' })]);
      await store.commit([change.deleteFileEntry({ kind: 'notification', id: 'unknown' })]);
      assert.deepEqual(await read.fileEntries('notification'), [{ ...entry, revision: 2 }]);
    });

    test('reads API keys, newest first', async () => {
      const { change, read } = store;
      const full = anApiKey({
        id: 'full',
        scopes: ['sign', 'admin'],
        relayerIds: ['a', 'b'],
        expiresAtMs: 8_640_000_000_000_000,
        createdBy: 'b',
        adoptedBy: 'c',
        allowedAddresses: ['10.0.0.0/8', '2001:db8::1'],
        formerSecrets: [{ digest: 'cd', validUntilMs: 8_640_000_000_000_000 }],
      });
      await store.commit([change.insertApiKey(anApiKey({ id: 'first' }))]);
      await store.commit([change.insertApiKey(full)]);
      assert.deepEqual(await read.apiKeys(), [full, anApiKey({ id: 'first' })]);
      await store.commit([change.holdApiKey(full)]);
      assert.equal(await conflictIn(store.commit([change.holdApiKey({ ...full, digest: 'cd' })])), 'holdApiKey');
      for (const [usedAtMs, lastUsedAtMs] of [
        [1_763_600_000_000, 1_763_600_000_000],
        [1_763_600_000_002, 1_763_600_000_002],
        [1_763_600_000_001, 1_763_600_000_002],
      ] as const) {
        await store.commit([change.noteApiKeyUse('full', usedAtMs), change.noteApiKeyUse('gone', usedAtMs)]);
        assert.deepEqual(await read.apiKeys(), [{ ...full, lastUsedAtMs }, anApiKey({ id: 'first' })]);
      }
      await store.commit([change.deleteApiKey('full', null)]);
      assert.equal(await conflictIn(store.commit([change.holdApiKey(full)])), 'holdApiKey');
      assert.deepEqual(await read.apiKeys(), [anApiKey({ id: 'first' })]);
      assert.equal(await conflictIn(store.commit([change.deleteApiKey('full', null)])), 'deleteApiKey');
      assert.equal(await conflictIn(store.commit([change.insertApiKey(anApiKey({ id: 'first' }))])), 'insertApiKey');
    });

    test('sets the secrets of an API key whose newest secret is the expected one', async () => {
      const { change, read } = store;
      const keys = async () => (await read.apiKeys()).filter(({ id }) => id !== 'first');
      const key = anApiKey({ id: 'key', name: 'n', digest: 'one' });
      await store.commit([change.insertApiKey(key), change.insertApiKey(anApiKey({ id: 'other', digest: 'one' }))]);
      const rotated = { ...key, digest: 'two', formerSecrets: [{ digest: 'one', validUntilMs: 5 }] };
      await store.commit([change.setApiKeySecrets(rotated, 'one')]);
      assert.deepEqual(await keys(), [anApiKey({ id: 'other', digest: 'one' }), rotated]);
      assert.equal(await conflictIn(store.commit([change.setApiKeySecrets(rotated, 'one')])), 'setApiKeySecrets');
      assert.equal(await conflictIn(store.commit([change.setApiKeySecrets({ ...rotated, id: 'gone' }, 'two')])), 'setApiKeySecrets');
      await store.commit([change.setApiKeySecrets(key, 'two'), change.deleteApiKey('other', null)]);
      assert.deepEqual(await keys(), [key]);
      await store.commit([change.deleteApiKey('key', null)]);
    });

    test('a deleted API key leaves those that it created to its creator, or to the heir', async () => {
      const { change, read } = store;
      const lineage = [
        ['top', 'bootstrap', null],
        ['left', 'gone', 'top'],
        ['one', 'left', null],
        ['two', 'gone', 'left'],
        ['three', 'left', 'top'],
        ['four', null, null],
      ] as const;
      await store.commit(lineage.map(([id, createdBy, adoptedBy]) => change.insertApiKey(anApiKey({ id, createdBy, adoptedBy }))));
      const adopters = async () =>
        Object.fromEntries((await read.apiKeys()).flatMap(({ id, adoptedBy }) => (id === 'first' ? [] : [[id, adoptedBy]])));
      await store.commit([change.deleteApiKey('left', null)]);
      assert.deepEqual(await adopters(), { top: null, one: 'top', two: 'top', three: 'top', four: null });
      await store.commit([change.deleteApiKey('one', null), change.deleteApiKey('top', 'heir')]);
      assert.deepEqual(await adopters(), { two: 'heir', three: 'heir', four: null });
      await store.commit([change.insertApiKey(anApiKey({ id: 'of-operator', createdBy: 'bootstrap' }))]);
      await store.commit([change.insertApiKey(anApiKey({ id: 'five', createdBy: 'of-operator' }))]);
      await store.commit([change.deleteApiKey('of-operator', null)]);
      assert.deepEqual(await adopters(), { two: 'heir', three: 'heir', four: null, five: null });
    });

    test('lists audit lines by what they are about, newest first, and each line once', async () => {
      const { change, read } = store;
      const startMs = 1_763_600_000_000;
      const line = (number: number, over: Partial<AuditLine> = {}): AuditLine => ({
        chain: number % 2 === 0 ? 'aa00000000000000' : 'b000000000000000',
        number,
        atMs: startMs + number,
        keyId: 'shop',
        method: 'TransactionService.SendTransaction',
        relayerId: 'r1',
        transactionIds: [`t${number}`],
        text: `{"number":${number},"nul":"\\u0000"}`,
        ...over,
      });
      const lines = [
        line(1),
        line(2, { keyId: 'engine', method: null, transactionIds: ['t1'] }),
        line(3, { relayerId: 'r2', transactionIds: ['t3', 't1', 't4'] }),
        line(4, { keyId: null, relayerId: null, method: null, transactionIds: [] }),
        line(5, { keyId: 'ops', method: 'TransactionService.CancelTransaction', transactionIds: ['t1'] }),
      ];
      await store.commit([change.putAuditLines(lines.slice(0, 3))]);
      await store.commit([change.putAuditLines(lines), change.putAuditLines([])]);
      const found = async (filter: AuditFilter, page: Partial<PageQuery> = {}) => {
        const { items, total, hasMore } = await read.auditLines(filter, { offset: 0, limit: 10, ...page });
        assert.equal(hasMore, undefined);
        const numbers = items.map(({ id, text }) => {
          const own = lines.find((one) => auditLineId(one) === id);
          assert.equal(text, own?.text);
          return own?.number;
        });
        return [total, ...numbers];
      };
      assert.deepEqual(await found({}), [5, 5, 4, 3, 2, 1]);
      assert.deepEqual(await found({}, { offset: 1, limit: 2 }), [5, 4, 3]);
      assert.deepEqual(await found({}, { after: auditLineId(line(3)) }), [2, 2, 1]);
      assert.deepEqual(await found({ transactionId: 't1' }), [4, 5, 3, 2, 1]);
      assert.deepEqual(await found({ transactionId: 't1' }, { after: auditLineId(line(3)) }), [2, 2, 1]);
      assert.deepEqual(await found({ transactionId: 't1', relayerIds: ['r1'], keyId: 'ops' }), [1, 5]);
      assert.deepEqual(await found({ keyId: 'shop' }), [2, 3, 1]);
      assert.deepEqual(await found({ relayerIds: ['r2', 'unknown', 'r1'] }), [4, 5, 3, 2, 1]);
      assert.deepEqual(await found({ relayerIds: ['r2'] }), [1, 3]);
      assert.deepEqual(await found({ relayerIds: [] }), [0]);
      assert.deepEqual(await found({ method: 'TransactionService.SendTransaction' }), [2, 3, 1]);
      assert.deepEqual(await found({ fromMs: startMs + 2, beforeMs: startMs + 4 }), [2, 3, 2]);
      assert.deepEqual(await found({ fromMs: -1, beforeMs: 8_640_000_000_000_000 }), [5, 5, 4, 3, 2, 1]);

      assert.equal(await read.hasAuditLineBefore(startMs + 1), false);
      assert.equal(await read.hasAuditLineBefore(startMs + 2), true);
      await store.commit([change.deleteAuditLines(startMs + 4, 3)]);
      assert.deepEqual(await found({ keyId: 'shop' }), [0], 'the row of a line without its first one is not listed');
      await store.commit([change.deleteAuditLines(startMs + 4, 100)]);
      assert.deepEqual(await found({}), [2, 5, 4]);
      await store.commit([change.deleteAuditLines(startMs + 6, 100)]);
      assert.deepEqual(await found({}), [0]);
    });

    test('counts and lists thousands of audit lines in parts', async () => {
      const { change, read } = store;
      const lines = Array.from(
        { length: 5_003 },
        (_, number): AuditLine => ({
          ...{ chain: 'c0c0000000000000', number, atMs: 1_763_600_000_000 + number, keyId: number % 50 === 0 ? 'rare' : 'shop' },
          ...{ method: `S.M${number % 2}`, relayerId: `r${number % 3}`, transactionIds: [], text: '{}' },
        }),
      );
      await store.commit([change.putAuditLines(lines)]);
      const idAt = (number: number) => auditLineId({ chain: 'c0c0000000000000', number, atMs: 1_763_600_000_000 + number });
      const listed = (from: number, to: number) => [idAt(from), idAt(to)].map((id) => ({ id, text: '{}' }));
      const page = (offset: number) => read.auditLines({}, { offset, limit: 2 });
      assert.deepEqual(await page(1_000), { items: listed(4_002, 4_001), total: 2_000, hasMore: true });
      assert.deepEqual(await page(3_999), { items: listed(1_003, 1_002), total: 5_003 });
      assert.deepEqual(await page(6_000), { items: [], total: 5_003 });
      const many = lines.map((line) => ({ ...line, chain: 'd0d0000000000000', keyId: null, relayerId: null, method: null }));
      for (let round = 0; round < 20; round += 1)
        await store.commit([change.putAuditLines(many.map((line) => ({ ...line, atMs: line.atMs - 1_000_000 - round })))]);
      await assert.rejects(() => read.auditLines({ method: 'S.Rare' }, { offset: 0, limit: 1 }), {
        reason: 'FIELD_INVALID',
        message: /^method leads through more than 100000 lines/,
      });
      const rare = await read.auditLines({ keyId: 'rare', method: 'S.M0', relayerIds: ['r0', 'r1'] }, { offset: 0, limit: 1 });
      assert.deepEqual([rare.items.map(({ id }) => id), rare.total, rare.hasMore], [[idAt(4_950)], 67, undefined]);
      const odd = await read.auditLines({ method: 'S.M1', relayerIds: ['r0'] }, { offset: 800, limit: 1 });
      assert.deepEqual([odd.items.map(({ id }) => id), odd.total], [[idAt(201)], 834]);
      await store.commit([change.deleteAuditLines(1_763_600_010_000, 200_000)]);
    });

    test('reads definitions in the order of their first write', async () => {
      const { change, read } = store;
      const content = { name: 'main', amount: huge, list: [1, 'two', null], nested: { url: '✓' } };
      const one: Definition = { kind: 'relayer', id: 'one', content, sealed: 'v1.abc' };
      const two: Definition = { kind: 'relayer', id: 'two', content: {}, sealed: null };
      await store.commit([change.putDefinition(one), change.putDefinition(two), change.putDefinition({ ...one, kind: 'signer' })]);
      assert.deepEqual(await read.definitions('relayer'), [one, two]);
      await store.commit([change.putDefinition({ ...one, content: null, sealed: null })]);
      assert.deepEqual(await read.definitions('relayer'), [{ ...one, content: null, sealed: null }, two]);
      await store.commit([change.deleteDefinition(one), change.deleteDefinition({ kind: 'network', id: 'unknown' })]);
      assert.deepEqual(await read.definitions('relayer'), [two]);
      assert.deepEqual(await read.definitions('signer'), [{ ...one, kind: 'signer' }]);
    });

    test('reads what ended transactions have reserved, with the fee that their receipts show', async () => {
      const { change, read } = store;
      const facts = { gasUsed: 21_000n, feePaid: huge, returnValueXdr: null };
      const at = { version: 2, blockNumber: 1n, blockHash: `0x${'ab'.repeat(32)}`, succeeded: false };
      const spends = [
        { window: 'teams cost', amount: huge + 9n, onSuccess: huge },
        { window: 'teams fee', amount: 9n, onSuccess: 0n },
        { window: 'teams native', amount: huge },
      ];
      const reserved = { held: spends.map(({ window, amount }) => ({ window, amount })), contents: [{ fromVersion: 1, spends }] };
      const ends = [
        aTransaction({ id: 'costs-1', status: 'failed', failureReason: 'reverted', mined: { ...at, facts } }),
        aTransaction({ id: 'costs-2', status: 'canceled', mined: { ...at, facts: { ...facts, feePaid: null } } }),
        aTransaction({ id: 'costs-3', status: 'confirmed', mined: { ...at, facts: null } }),
        aTransaction({ id: 'costs-4', status: 'expired' }),
        aTransaction({ id: 'costs-5', status: 'mined', mined: { ...at, facts } }),
      ];
      await store.commit(ends.flatMap((one) => [change.insertTransaction(one), change.insertReservation(one.id, reserved)]));
      const ended = (await read.endedReservations(100)).filter(({ transactionId }) => transactionId.startsWith('costs-'));
      assert.deepEqual(
        ended
          .map(({ transactionId, minedVersion, feePaid }) => [transactionId, minedVersion, feePaid])
          .sort(([a], [b]) => String(a).localeCompare(String(b))),
        [
          ['costs-1', 2, huge],
          ['costs-2', 2, null],
          ['costs-3', 2, null],
          ['costs-4', null, null],
        ],
      );
      for (const one of ended) assert.deepEqual(one.reserved, reserved);
      await store.commit(ends.map(({ id }) => change.deleteReservation(id, reserved)));
      assert.deepEqual(
        (await read.endedReservations(100)).filter(({ transactionId }) => transactionId.startsWith('costs-')),
        [],
      );
    });

    test('closes only a relayer without open transactions, and refuses its transactions until it is opened again', async () => {
      const { change, read } = store;
      const open = aTransaction({ id: 'closing-1', relayerId: 'closing' });
      await store.commit([change.insertTransaction(open)]);
      assert.equal(await conflictIn(store.commit([change.closeRelayer('closing')])), 'closeRelayer');
      await store.commit([change.updateTransaction({ ...open, status: 'canceled', revision: open.revision + 1 })]);
      const window = { name: 'w', version: 'v', window: { windowMs: 60_000, open: 1n, spent: [] } };
      const spends = [{ window: 'w', amount: 1n }];
      const reserved = { held: spends, contents: [{ fromVersion: 1, spends }] };
      await store.commit([
        change.storeSpendWindow({ ...window, relayerId: 'closing' }, null),
        change.storeSpendWindow({ ...window, relayerId: 'going-on' }, null),
        change.insertTransaction(aTransaction({ id: 'going-on-1', relayerId: 'going-on' })),
        change.insertReservation('going-on-1', reserved),
        change.insertReservation('closing-1', reserved),
      ]);
      await store.commit([change.closeRelayer('closing')]);
      assert.deepEqual([await read.allSpendWindows('closing'), await read.reservation('closing-1')], [[], undefined]);
      assert.deepEqual([(await read.allSpendWindows('going-on')).length, await read.reservation('going-on-1')], [1, reserved]);
      const late = aTransaction({ id: 'closing-2', relayerId: 'closing' });
      assert.equal(await conflictIn(store.commit([change.insertTransaction(late)])), 'insertTransaction');
      await store.commit([change.insertTransaction(aTransaction({ id: 'other-1', relayerId: 'other-relayer' }))]);
      await store.commit([change.reopenRelayer('closing'), change.insertTransaction(late)]);
      const page = await read.transactionsOf('closing', [], { offset: 0, limit: 10 });
      assert.deepEqual(
        page.items.map(({ transaction }) => transaction.id),
        ['closing-2', 'closing-1'],
      );
    });

    test('counts the changes of definitions, and refuses one that was decided from an earlier version', async () => {
      const { change, read } = store;
      const from = await read.definitionsVersion();
      await store.commit([change.moveDefinitions(from)]);
      assert.equal(await read.definitionsVersion(), from + 1);
      const late = change.putDefinition({ kind: 'relayer', id: 'late', content: {}, sealed: null });
      assert.equal(await conflictIn(store.commit([change.moveDefinitions(from), late])), 'moveDefinitions');
      assert.equal(
        (await read.definitions('relayer')).find(({ id }) => id === 'late'),
        undefined,
      );
      assert.equal(await read.definitionsVersion(), from + 1);
    });

    test('reads stored responses byte for byte until they expire, and replaces an expired one of the same key', async () => {
      const { change, read } = store;
      const bytes = new Uint8Array(Array.from({ length: 256 }, (_, byte) => byte));
      const response = aStoredResponse({ response: bytes, expiresAtMs: 1000 });
      assert.equal(await read.firstStoredResponseExpiryMs(), undefined);
      await store.commit([change.putStoredResponse(response, 0)]);
      assert.deepEqual(await read.storedResponse(response, 999), response);
      assert.equal(await read.storedResponse(response, 1000), undefined);
      for (const other of [{ keyId: 'other' }, { method: '/s/Other' }, { idempotencyKey: 'ONE' }]) {
        assert.equal(await read.storedResponse({ ...response, ...other }, 0), undefined);
      }
      const later = { ...response, fingerprint: 'another', response: new Uint8Array(), expiresAtMs: 3000 };
      assert.equal(await conflictIn(store.commit([change.putStoredResponse(later, 999)])), 'putStoredResponse');
      assert.deepEqual(await read.storedResponse(response, 999), response);
      await store.commit([change.putStoredResponse(later, 1000)]);
      assert.deepEqual(await read.storedResponse(response, 1000), later);
    });

    test('deletes expired stored responses, oldest first, up to the limit', async () => {
      const { change, read } = store;
      const named = (number: number) => aStoredResponse({ idempotencyKey: `expires ${number}`, expiresAtMs: 100 + number });
      await store.commit([3, 1, 2, 4].map((number) => change.putStoredResponse(named(number), 0)));
      assert.equal(await read.firstStoredResponseExpiryMs(), 101);
      await store.commit([change.deleteExpiredStoredResponses(103, 2)]);
      assert.equal(await read.firstStoredResponseExpiryMs(), 103);
      await store.commit([change.deleteExpiredStoredResponses(103, 2), change.deleteExpiredStoredResponses(103, 2)]);
      assert.equal(await read.firstStoredResponseExpiryMs(), 104);
      assert.equal(await read.storedResponse(named(3), 0), undefined);
      assert.deepEqual(await read.storedResponse(named(4), 0), named(4));
    });

    test('reads the next nonce of a lane and the genesis hash of a chain', async () => {
      const lane = { chain: 'evm:1', account: '0xA' };
      assert.equal(await store.read.nextNonce(lane), undefined);
      assert.equal(await store.read.genesisHash('evm:1'), undefined);
      await store.commit([store.change.openLane(lane, huge), store.change.insertChain('evm:1', '0xaa')]);
      await store.commit([store.change.openLane(lane, 1n), store.change.insertChain('evm:1', '0xaa')]);
      assert.equal(await store.read.nextNonce(lane), huge);
      assert.equal(await store.read.genesisHash('evm:1'), '0xaa');
      await store.commit([store.change.moveLane(lane, huge, huge + 1n)]);
      assert.equal(await store.read.nextNonce(lane), huge + 1n);
    });

    test('a signature for a caller stands for one transaction at most, also if it is noted again', async () => {
      const { change, read } = store;
      assert.equal(await read.callerSignature('0xaa'), undefined);
      await store.commit([change.noteCallerSignature('0xaa'), change.noteCallerSignature('0xaa')]);
      assert.deepEqual(await read.callerSignature('0xaa'), { transactionId: null });
      await store.commit([change.useCallerSignature('0xaa', 'one')]);
      await store.commit([change.noteCallerSignature('0xaa')]);
      for (const hash of ['0xaa', '0xbb'])
        await assert.rejects(store.commit([change.useCallerSignature(hash, 'two')]), {
          name: 'ConflictError',
          change: 'useCallerSignature',
        });
      assert.deepEqual(await read.callerSignature('0xaa'), { transactionId: 'one' });
    });

    test('a read of an unknown id returns undefined or an empty list', async () => {
      assert.equal(await store.read.transaction('unknown'), undefined);
      assert.equal(await store.read.transaction('zero \u0000 byte'), undefined);
      assert.equal(await store.read.transaction('half a pair \ud83d'), undefined);
      assert.equal(await store.read.notification('unknown'), undefined);
      assert.deepEqual(await store.read.transactionsById(['unknown']), []);
      assert.deepEqual(await store.read.transactionsOf('unknown', [], { offset: 0, limit: 10 }), { items: [], total: 0 });
      assert.deepEqual(await store.read.transactionsOf('unknown', ['failed'], { offset: 0, limit: 10 }), { items: [], total: 0 });
    });
  });

  describe(`${name}: commit`, () => {
    let store: Store;
    const taken = aTransaction({ id: 'taken' });
    before(async () => {
      store = (await open(await newDatabaseUrl())).store;
      const { change } = store;
      await store.commit([
        change.insertTransaction(taken),
        change.insertTransaction(aTransaction({ id: 'other' })),
        change.insertAttempt(anAttempt({ transactionId: 'taken' })),
        change.openLane(sampleLane, 5n),
        change.insertChain('evm:31337', '0x01'),
        change.insertNotification(aNotification({ id: 'hook' })),
      ]);
    });
    after(() => store.close());

    test('commit writes a whole list or nothing, and names the failed change', async () => {
      const { change, read } = store;
      const fresh = (): Change => change.insertTransaction(aTransaction({ id: 'fresh' }));
      const broken: readonly Change[] = [
        change.insertTransaction(taken),
        change.updateTransaction({ ...taken, revision: 3 }),
        change.updateTransaction({ ...taken, revision: 1 }),
        change.updateTransaction(aTransaction({ id: 'unknown', revision: 2 })),
        // The transaction has this version already; in the second case another transaction has it in the same slot.
        change.insertAttempt(anAttempt({ transactionId: 'taken', nonce: 1n })),
        change.insertAttempt(anAttempt({ transactionId: 'other' })),
        change.moveLane(sampleLane, 4n, 6n),
        change.moveLane({ ...sampleLane, chain: 'evm:2' }, 5n, 6n),
        change.insertChain('evm:31337', '0x02'),
        change.updateEvent({ id: 'unknown', status: 'delivered', attempts: 1, nextAttemptAtMs: 0 }),
        change.insertNotification(aNotification({ id: 'hook' })),
        change.updateNotification(aNotification({ id: 'hook', revision: 3 })),
        change.updateNotification(aNotification({ id: 'unknown', revision: 2 })),
        change.redeliverEvent({ id: 'unknown', notificationId: 'hook', nextAttemptAtMs: 0 }),
        change.deleteNotification({ id: 'hook', revision: 2 }),
        change.deleteNotification({ id: 'unknown', revision: 1 }),
      ];
      for (const change of broken) {
        assert.equal(await conflictIn(store.commit([fresh(), change])), change.name);
        assert.equal(await read.transaction('fresh'), undefined);
      }
      assert.deepEqual((await read.transaction('taken'))?.transaction, taken);
      assert.equal(await read.nextNonce(sampleLane), 5n);
      assert.equal(await read.genesisHash('evm:31337'), '0x01');
      assert.deepEqual(await read.notification('hook'), aNotification({ id: 'hook' }));
    });

    test('updateTransaction refuses to change a final status', async () => {
      const done = aTransaction({ id: 'done', status: 'failed' });
      await store.commit([store.change.insertTransaction(done)]);
      assert.equal(await conflictIn(store.commit([store.change.updateTransaction(next(done, { status: 'sent' }))])), 'updateTransaction');
      assert.equal(
        await conflictIn(store.commit([store.change.updateTransaction(next(done, { status: 'expired' }))])),
        'updateTransaction',
      );
      await store.commit([store.change.updateTransaction(next(done, { statusReason: 'added later' }))]);
      assert.equal((await store.read.transaction('done'))?.transaction.statusReason, 'added later');
    });

    test('of 200 simultaneous commits, only the conflicting ones fail', async () => {
      const { change, read } = store;
      // Every tenth commit has a taken id, every 25th a stale lane nonce, and one an attempt of an unknown transaction.
      const reasonOf = (number: number): string => {
        if (number === 113) return 'error';
        if (number % 10 === 3) return 'insertTransaction';
        return number % 25 === 7 ? 'moveLane' : 'nothing';
      };
      const commits = Array.from({ length: 200 }, (_, number) => {
        const reason = reasonOf(number);
        const list = [
          change.insertTransaction(aTransaction({ id: reason === 'insertTransaction' ? 'taken' : `many-${number}`, relayerId: 'many' })),
          change.insertEvent(anEvent({ id: `many-${number}`, orderKey: `many-${number}` })),
        ];
        if (reason === 'moveLane') list.push(change.moveLane(sampleLane, 1n, 2n));
        if (reason === 'error') list.push(change.insertAttempt(anAttempt({ transactionId: 'unknown', nonce: 9n })));
        return store.commit(list);
      });
      const results = await Promise.allSettled(commits);
      const reasons = results.map((result) => {
        if (result.status === 'fulfilled') return 'nothing';
        return result.reason instanceof ConflictError ? result.reason.change : 'error';
      });
      assert.deepEqual(
        reasons,
        Array.from({ length: 200 }, (_, number) => reasonOf(number)),
      );
      const written = reasons.filter((reason) => reason === 'nothing').length;
      const page = await read.transactionsOf('many', [], { offset: 0, limit: 200 });
      assert.equal(page.total, written);
      assert.equal(page.items.length, written);
      assert.equal((await read.dueEvents('hook', 0, 1000)).length, written);
      assert.equal(await read.nextNonce(sampleLane), 5n);
    });

    test('a stored response is written with its list or not at all, and of many with one key only the first is', async () => {
      const { change, read } = store;
      const response = aStoredResponse({ idempotencyKey: 'with a list' });
      assert.equal(
        await conflictIn(store.commit([change.putStoredResponse(response, 0), change.insertTransaction(taken)])),
        'insertTransaction',
      );
      assert.equal(await read.storedResponse(response, 0), undefined);
      const puts = [1, 2, 3].map((number) =>
        conflictIn(store.commit([change.openLane({ chain: 'evm:8', account: `0x${number}` }, 0n), change.putStoredResponse(response, 0)])),
      );
      assert.deepEqual((await Promise.all(puts)).sort(), ['nothing', 'putStoredResponse', 'putStoredResponse']);
      assert.deepEqual(await read.storedResponse(response, 0), response);
      const opened = await Promise.all([1, 2, 3].map((number) => read.nextNonce({ chain: 'evm:8', account: `0x${number}` })));
      assert.equal(opened.filter((nonce) => nonce === 0n).length, 1);
    });

    test('of many commits that move a lane from the same nonce, one succeeds', async () => {
      const lane = { chain: 'evm:7', account: '0xB' };
      await store.commit([store.change.openLane(lane, 0n)]);
      const moves = Array.from({ length: 20 }, () => conflictIn(store.commit([store.change.moveLane(lane, 0n, 1n)])));
      const conflicts = await Promise.all(moves);
      assert.equal(conflicts.filter((change) => change === 'nothing').length, 1);
      assert.equal(conflicts.filter((change) => change === 'moveLane').length, 19);
      assert.equal(await store.read.nextNonce(lane), 1n);
    });

    test('a list sees the writes of earlier lists in the same batch', async () => {
      const lane = { chain: 'evm:8', account: '0xB' };
      const { change } = store;
      await Promise.all([store.commit([change.openLane(lane, 0n)]), store.commit([change.moveLane(lane, 0n, 1n)])]);
      assert.equal(await store.read.nextNonce(lane), 1n);
    });

    test('commit accepts an empty list and refuses a change that a store did not make', async () => {
      await store.commit([]);
      await assert.rejects(store.commit([{ name: 'stranger' }]), TypeError);
    });

    test('checkWorking resolves while the store can read and write', async () => {
      await store.checkWorking();
    });
  });

  describe(`${name}: pages of transactions`, () => {
    let store: Store;
    before(async () => {
      store = (await open(await newDatabaseUrl())).store;
    });
    after(() => store.close());

    const statusOf = (number: number): TransactionStatus => (['confirmed', 'failed', 'pending', 'sent'] as const)[number % 4] ?? 'pending';

    test('are ordered from newest to oldest, with the exact total, for all statuses and for some', async () => {
      const { change, read } = store;
      const all = Array.from({ length: 50 }, (_, number) => aTransaction({ id: `t-${number}`, createdAtMs: 1_000 - number }));
      for (const transaction of all) {
        await store.commit([
          change.insertTransaction(transaction),
          change.insertTransaction({ ...transaction, id: `x-${transaction.id}`, relayerId: 'relayer-2' }),
        ]);
      }
      await Promise.all(
        all.map((transaction, number) => store.commit([change.updateTransaction(next(transaction, { status: statusOf(number) }))])),
      );
      const newestFirst = all.map(({ id }) => id).reverse();
      const filters: readonly (readonly TransactionStatus[])[] = [
        [],
        ['failed'],
        ['pending', 'failed'],
        ['failed', 'confirmed', 'sent', 'failed'],
        ['expired'],
        ['pending', 'sent', 'submitted', 'mined', 'confirmed', 'failed', 'expired', 'canceled'],
      ];
      for (const statuses of filters) {
        const expected = newestFirst.filter((id) => statuses.length === 0 || statuses.includes(statusOf(Number(id.slice(2)))));
        for (const after of expected.slice(0, 12)) {
          const page = await read.transactionsOf('relayer-1', statuses, { offset: 0, limit: 5, after });
          assert.deepEqual(
            [page.items.map(({ transaction }) => transaction.id), page.total],
            [olderThan(expected, after, 5), expected.length],
          );
        }
        for (const [offset, limit] of [
          [0, 10],
          [7, 5],
          [0, 100],
          [45, 10],
          [50, 10],
          [1e21, 10],
        ] as const) {
          const page = await read.transactionsOf('relayer-1', statuses, { offset, limit });
          assert.deepEqual(
            { ids: ids(page.items), total: page.total },
            { ids: expected.slice(offset, offset + limit), total: expected.length },
          );
        }
      }
    });

    test('include the attempt that each record shows', async () => {
      const sent = aTransaction({ id: 'sent', relayerId: 'relayer-3', liveVersion: 1, nonce: 0n, status: 'sent' });
      const attempt = anAttempt({ transactionId: 'sent' });
      await store.commit([store.change.insertTransaction(sent), store.change.insertAttempt(attempt)]);
      for (const statuses of [[], ['sent']] as const) {
        const page = await store.read.transactionsOf('relayer-3', statuses, { offset: 0, limit: 10 });
        assert.deepEqual(page.items, [{ transaction: sent, shown: attempt }]);
      }
    });

    test('stay consistent while transactions are inserted and finish', async () => {
      const { change, read } = store;
      const page = { offset: 0, limit: 1_000 };
      let finished = false;
      const writers = Array.from({ length: 100 }, async (_, number) => {
        const transaction = aTransaction({ id: `busy-${number}`, relayerId: 'busy' });
        await store.commit([change.insertTransaction(transaction)]);
        await store.commit([change.updateTransaction(next(transaction, { status: 'confirmed' }))]);
      });
      const written = Promise.all(writers).then(() => {
        finished = true;
      });
      let seen = 0;
      while (!finished) {
        const all = await read.transactionsOf('busy', [], page);
        assert.equal(all.items.length, all.total);
        assert.equal(new Set(ids(all.items)).size, all.total);
        assert.ok(all.total >= seen);
        seen = all.total;
        await delay(1);
      }
      await written;
      assert.equal((await read.transactionsOf('busy', [], page)).total, 100);
      assert.equal((await read.transactionsOf('busy', ['confirmed'], page)).total, 100);
      assert.equal((await read.transactionsOf('busy', openStatuses, page)).total, 0);
    });

    test('count a final transaction once, even if it is written again', async () => {
      const { change, read } = store;
      const failed = aTransaction({ id: 'once', relayerId: 'relayer-4', status: 'failed' });
      const again = next(failed, { statusReason: 'a' });
      await store.commit([change.insertTransaction(failed)]);
      await store.commit([change.updateTransaction(again)]);
      await store.commit([change.updateTransaction(next(again, { statusReason: 'b' }))]);
      await conflictIn(store.commit([change.updateTransaction(again)]));
      assert.equal((await read.transactionsOf('relayer-4', ['failed'], { offset: 0, limit: 10 })).total, 1);
    });

    test('openTransactions returns the open transactions of a lane with their attempts, oldest first', async () => {
      const { change, read } = store;
      const lane = { chain: 'evm:5', account: '0xC' };
      const [a, b, c] = ['a', 'b', 'c'].map((id) => aTransaction({ ...lane, id, relayerId: 'relayer-5' })) as [
        Transaction,
        Transaction,
        Transaction,
      ];
      const attempts = [1, 2].map((version) => anAttempt({ ...lane, transactionId: 'b', version }));
      await store.commit([a, b, c].map((transaction) => change.insertTransaction(transaction)));
      await store.commit(attempts.map((attempt) => change.insertAttempt(attempt)).reverse());
      assert.deepEqual(await read.openTransactions(lane), [
        { transaction: a, attempts: [] },
        { transaction: b, attempts },
        { transaction: c, attempts: [] },
      ]);
      const ids = async (page: { after?: string; limit: number }) =>
        (await read.openTransactions(lane, page)).map(({ transaction }) => transaction.id);
      assert.deepEqual(await ids({ limit: 2 }), ['a', 'b']);
      assert.deepEqual(await ids({ after: 'b', limit: 2 }), ['c']);
      const { relayerId, intent, status, revision } = a;
      assert.deepEqual(
        await read.openSummaries(lane),
        ['a', 'b', 'c'].map((id) => ({ id, relayerId, intent, status, revision })),
      );
      assert.ok((await read.openLanes()).some(({ chain, account }) => chain === lane.chain && account === lane.account));
      await store.commit([a, b, c].map((transaction) => change.updateTransaction(next(transaction, { status: 'expired' }))));
      assert.deepEqual(await read.openTransactions(lane), []);
      assert.ok(!(await read.openLanes()).some(({ chain }) => chain === lane.chain));
    });
  });

  describe(`${name}: outbox`, () => {
    let store: Store;
    before(async () => {
      store = (await open(await newDatabaseUrl())).store;
    });
    after(() => store.close());

    const dueOf = async (hook: string, nowMs: number): Promise<string[]> =>
      (await store.read.dueEvents(hook, nowMs, 100)).map(({ id }) => id);
    const due = (nowMs: number): Promise<string[]> => dueOf('hook', nowMs);
    const targets = async (nowMs: number) =>
      [...(await store.read.pendingTargets(nowMs))].sort((a, b) => a.notificationId.localeCompare(b.notificationId));
    const set = (id: string, status: 'pending' | 'delivered' | 'dead', nextAttemptAtMs = 0): Promise<void> =>
      store.commit([store.change.updateEvent({ id, status, attempts: 1, nextAttemptAtMs })]);
    const redeliver = (id: string, nextAttemptAtMs: number, notificationId = 'hook'): Promise<void> =>
      store.commit([store.change.redeliverEvent({ id, notificationId, nextAttemptAtMs })]);

    test('an event waits for older events of its order key and for no others', async () => {
      const { change, read } = store;
      assert.deepEqual(await targets(0), []);
      await store.commit(
        [
          anEvent({ id: 'a1', orderKey: 'a', nextAttemptAtMs: 100 }),
          anEvent({ id: 'a2', orderKey: 'a', nextAttemptAtMs: 10 }),
          anEvent({ id: 'b1', orderKey: 'b', nextAttemptAtMs: 50 }),
          anEvent({ id: 'a3', orderKey: 'a' }),
          anEvent({ id: 'other-a1', orderKey: 'a', notificationId: 'other', nextAttemptAtMs: 60 }),
        ].map((event) => change.insertEvent(event)),
      );
      assert.deepEqual(await targets(49), [
        { notificationId: 'hook', isDue: false, nextAtMs: 50 },
        { notificationId: 'other', isDue: false, nextAtMs: 60 },
      ]);
      assert.deepEqual(await targets(60), [
        { notificationId: 'hook', isDue: true, nextAtMs: 100 },
        { notificationId: 'other', isDue: true, nextAtMs: undefined },
      ]);
      assert.deepEqual(await due(49), []);
      assert.deepEqual(await due(60), ['b1']);
      assert.deepEqual(await due(100), ['b1', 'a1']);
      assert.deepEqual(
        (await read.dueEvents('hook', 100, 1)).map(({ id }) => id),
        ['b1'],
      );
      assert.deepEqual(await dueOf('other', 100), ['other-a1']);
      assert.deepEqual(await dueOf('unknown', 100), []);
      assert.equal(await read.pendingEventCount(100), 5);
      assert.equal(await read.pendingEventCount(3), 3);

      await set('a1', 'pending', 1_000);
      assert.deepEqual(await due(100), ['b1']);
      await set('b1', 'delivered');
      await set('other-a1', 'dead');
      assert.deepEqual(await targets(100), [{ notificationId: 'hook', isDue: false, nextAtMs: 1_000 }]);
      await set('a1', 'delivered', 1_000);
      assert.deepEqual(await due(100), ['a2']);
      await set('a2', 'dead');
      assert.deepEqual(await due(100), ['a3']);
      assert.equal(await read.pendingEventCount(100), 1);
    });

    test('a redelivered event gets a new retry schedule and goes before later events of its order key', async () => {
      const { change, read } = store;
      await redeliver('a2', 500);
      assert.deepEqual(await due(100), []);
      assert.deepEqual(await targets(0), [{ notificationId: 'hook', isDue: false, nextAtMs: 500 }]);
      assert.equal((await read.delivery('hook', 'a2'))?.event.attempts, 0);
      // An older event as well: the order is that of the inserts, not of the redeliveries.
      await redeliver('a1', 600);
      assert.deepEqual(await due(599), []);
      assert.deepEqual(await due(600), ['a1']);
      await set('a1', 'delivered');
      assert.deepEqual(await due(600), ['a2']);
      await set('a2', 'delivered');
      assert.deepEqual(await due(0), ['a3']);
      await redeliver('a3', 7);
      assert.deepEqual([await due(6), await due(7)], [[], ['a3']]);
      await set('a3', 'delivered');
      assert.equal(await conflictIn(redeliver('a3', 0, 'other')), 'redeliverEvent');
      assert.deepEqual(await targets(1_000), []);

      await store.commit([change.insertEvent(anEvent({ id: 'a4', orderKey: 'a' }))]);
      assert.deepEqual(await due(0), ['a4']);
      await set('a4', 'delivered');
    });

    test('keeps the last twenty delivery attempts of an event', async () => {
      const { change, read } = store;
      const attempts = Array.from({ length: 23 }, (_, number) => ({
        attemptedAtMs: 1_763_600_000_000 + number,
        durationMs: number,
        httpStatus: number % 2 === 0 ? 500 : null,
        error: number === 22 ? null : `error ${number}`,
        responseBody: number % 2 === 0 ? 'why \\u{0} ✓😀' : null,
      }));
      const [one, two] = ['t1', 't2'].map((id) => anEvent({ id, notificationId: 'attempted', orderKey: id })) as [OutboxEvent, OutboxEvent];
      await store.commit([change.insertEvent(one), change.insertEvent(two)]);
      for (const attempt of attempts) await store.commit([change.insertDeliveryAttempt('t1', attempt)]);
      assert.deepEqual(await read.delivery('attempted', 't1'), { event: one, attempts: attempts.slice(3) });
      assert.equal(await read.delivery('other', 't1'), undefined);
      assert.equal(await read.delivery('attempted', 'unknown'), undefined);
      assert.deepEqual(await read.deliveries('attempted', { offset: 0, limit: 10 }), {
        items: [
          { event: two, attempts: [] },
          { event: one, attempts: attempts.slice(3) },
        ],
        total: 2,
      });
      assert.deepEqual(await read.deliveries('attempted', { offset: 1, limit: 1 }), {
        items: [{ event: one, attempts: attempts.slice(3) }],
        total: 2,
      });
      assert.deepEqual(await read.deliveries('attempted', { offset: 1e21, limit: 1 }), { items: [], total: 2 });
      assert.deepEqual(await read.deliveries('unknown', { offset: 0, limit: 1 }), { items: [], total: 0 });
    });

    test('finds and deletes the events that ended before a time, and no others', async () => {
      const { change, read } = store;
      await set('t1', 'delivered', 30);
      await set('t2', 'dead', 20);
      await store.commit([change.insertEvent(anEvent({ id: 't3', notificationId: 'attempted', orderKey: 't1', nextAttemptAtMs: 10 }))]);
      assert.deepEqual((await read.finishedEventIds(31, 100)).slice(-2), ['t2', 't1']);
      assert.deepEqual((await read.finishedEventIds(30, 100)).at(-1), 't2');
      assert.equal((await read.finishedEventIds(31, 1)).length, 1);
      await store.commit(['t1', 't3', 'unknown'].map((id) => change.deleteFinishedEvent(id)));
      const left = await read.deliveries('attempted', { offset: 0, limit: 10 });
      assert.deepEqual(
        left.items.map(({ event }) => event.id),
        ['t3', 't2'],
      );
      assert.equal(await conflictIn(set('t1', 'delivered')), 'updateEvent');
      await set('t3', 'delivered');
    });

    test('markNotificationGone affects only the revision that was gone', async () => {
      const { change, read } = store;
      const hook = aNotification({ id: 'going' });
      await store.commit([change.insertNotification(hook)]);
      await store.commit([change.markNotificationGone({ id: 'going', revision: 1 }, 77)]);
      assert.deepEqual(await read.notification('going'), { ...hook, goneAtMs: 77 });
      const updated = { ...hook, revision: 2 };
      await store.commit([change.updateNotification(updated)]);
      await store.commit([change.markNotificationGone({ id: 'going', revision: 1 }, 88)]);
      assert.deepEqual(await read.notification('going'), updated);
    });

    test('events of one order key become due one by one in the order of their commits', async () => {
      const names = Array.from({ length: 12 }, (_, number) => `s${number}`);
      // Simultaneous commits with one event each: the order of commits is the order of events.
      await Promise.all(names.map((id) => store.commit([store.change.insertEvent(anEvent({ id, orderKey: 's' }))])));
      for (const id of names) {
        assert.deepEqual(await due(0), [id]);
        await set(id, 'delivered');
      }
      assert.deepEqual(await due(0), []);
    });

    test('deleteNotification deletes its undelivered events', async () => {
      const { change, read } = store;
      await store.commit([
        change.insertNotification(aNotification({ id: 'gone' })),
        ...['g1', 'g2', 'g3'].map((id) => change.insertEvent(anEvent({ id, notificationId: 'gone', orderKey: id }))),
        change.insertEvent(anEvent({ id: 'kept', notificationId: 'stays', orderKey: 'g1' })),
      ]);
      await set('g1', 'delivered');
      await set('g2', 'dead');
      await store.commit([change.deleteNotification({ id: 'gone', revision: 1 })]);
      assert.equal(await read.notification('gone'), undefined);
      assert.deepEqual([await dueOf('gone', 0), await dueOf('stays', 0)], [[], ['kept']]);
      const update = (id: string) => conflictIn(set(id, 'delivered'));
      assert.deepEqual(await Promise.all(['g1', 'g2', 'g3'].map(update)), ['nothing', 'updateEvent', 'updateEvent']);
    });
  });

  describe(`${name}: opening and closing`, () => {
    test('openStore migrates once and finds all rows after a restart', async () => {
      const databaseUrl = await newDatabaseUrl();
      const opened = await open(databaseUrl);
      assert.deepEqual(opened.migrations, migrationNames);
      const transaction = aTransaction({ id: 'kept' });
      await opened.store.commit([opened.store.change.insertTransaction(transaction)]);
      await opened.store.close();
      assert.deepEqual(await migrateDatabase(databaseUrl, { log: silentLog }), []);
      const again = await open(databaseUrl);
      assert.deepEqual(again.migrations, []);
      assert.deepEqual((await again.store.read.transaction('kept'))?.transaction, transaction);
      await again.store.close();
    });

    test('migrateDatabase migrates and releases the lock', async () => {
      const databaseUrl = await newDatabaseUrl();
      assert.deepEqual(await migrateDatabase(databaseUrl, { log: silentLog }), migrationNames);
      await (await open(databaseUrl)).store.close();
    });

    test('openApiKeys writes keys to a new database and beside the process that holds the lock', async () => {
      const databaseUrl = await newDatabaseUrl();
      const keys = await openApiKeys(databaseUrl, { log: silentLog });
      await keys.commit([keys.change.insertApiKey(anApiKey({ id: 'before' }))]);
      await keys.close();
      const { store } = await open(databaseUrl);
      const beside = await openApiKeys(databaseUrl, { log: silentLog });
      const { change } = beside;
      await beside.commit([change.insertApiKey(anApiKey({ id: 'beside' })), change.deleteApiKey('before', null)]);
      assert.deepEqual(await store.read.apiKeys(), [anApiKey({ id: 'beside' })]);
      await beside.close();
      await assert.rejects(open(databaseUrl), DatabaseLockedError, 'openApiKeys neither takes nor releases the lock');
      await store.close();
    });

    test('close writes the waiting lists and refuses new ones', async () => {
      const databaseUrl = await newDatabaseUrl();
      const { store } = await open(databaseUrl);
      const waiting = store.commit([store.change.insertTransaction(aTransaction({ id: 'waiting' }))]);
      const closed = store.close();
      await assert.rejects(store.commit([store.change.openLane(sampleLane, 0n)]), /closed/);
      await assert.rejects(store.checkWorking(), /closed/);
      await waiting;
      await closed;
      await store.close();
      const again = await open(databaseUrl);
      assert.notEqual(await again.store.read.transaction('waiting'), undefined);
      await again.store.close();
    });

    test('openStore names the process that holds the database', async () => {
      const databaseUrl = await newDatabaseUrl();
      const beforeMs = Date.now();
      const { store } = await open(databaseUrl);
      const isLocked = (error: unknown): boolean => {
        assert.ok(error instanceof DatabaseLockedError);
        assert.equal(error.holder?.pid, process.pid);
        assert.equal(error.holder.host, hostname());
        assert.ok(error.holder.since_ms >= beforeMs && error.holder.since_ms <= Date.now());
        assert.match(error.message, new RegExp(`process ${process.pid} on host`));
        return true;
      };
      await assert.rejects(open(databaseUrl), isLocked);
      await assert.rejects(migrateDatabase(databaseUrl, { log: silentLog }), isLocked);
      await store.checkWorking();
      await store.close();
      await (await open(databaseUrl)).store.close();
    });

    test('a killed process releases the database and loses no acknowledged commit', { timeout: 30_000 }, async (t) => {
      const databaseUrl = await newDatabaseUrl();
      const { child, acknowledged } = await startHolder(t, databaseUrl, 20);
      await assert.rejects(open(databaseUrl), (error) => error instanceof DatabaseLockedError && error.holder?.pid === child.pid);
      child.removeAllListeners('exit');
      child.kill('SIGKILL');
      await once(child, 'close');
      const { store } = await openWhenFree(databaseUrl);
      const page = (offset: number, limit: number) => store.read.transactionsOf('held', [], { offset, limit });
      // It may have committed many more than this process has heard of.
      const { total } = await page(0, 1);
      assert.ok(total >= acknowledged.length);
      const { items } = await page(total - acknowledged.length, acknowledged.length);
      assert.deepEqual(ids(items).reverse(), acknowledged);
      await store.close();
    });
  });
}

function olderThan(newestFirst: readonly string[], id: string, limit: number): readonly string[] {
  const start = newestFirst.indexOf(id) + 1;
  return newestFirst.slice(start, start + limit);
}
