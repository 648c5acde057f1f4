import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Feed } from '../../../src/core/transaction/feed.js';
import { cursorOf, tokenOf } from '../../../src/core/transaction/resume-token.js';
import { isReached, type WaitUntil, waitForTransaction } from '../../../src/core/transaction/wait-for-transaction.js';
import { type WatchMessage, type WatchRequest, watchTransactions } from '../../../src/core/transaction/watch-transactions.js';
import { anAttempt, next } from '../../support/stored-samples.js';
import { waitFor } from '../../support/wait-for.js';
import { errorOf, pendingOf, signedOf, type UseCaseRig, useCaseRig } from './use-case-rig.js';

const longMs = 60_000;
const never = new AbortController().signal;

function watch(rig: UseCaseRig, over: Partial<WatchRequest> = {}, heartbeatMs = longMs): AsyncGenerator<WatchMessage, void, void> {
  const deps = { read: rig.store.read, feed: rig.feed, heartbeatMs };
  return watchTransactions(deps, { relayer: rig.relayer, transactionId: null, resumeToken: null, ...over }, never);
}

/** Reads messages until one is of this kind. Returns the ids of the transactions before it, with their revisions, and its token. */
async function until(messages: AsyncGenerator<WatchMessage>, kind: WatchMessage['kind']): Promise<readonly [string[], string]> {
  const ids: string[] = [];
  for (;;) {
    const { value, done } = await messages.next();
    assert.ok(done !== true, 'the watch ended');
    if (value.kind === 'transaction') ids.push(`${value.changed.view.transaction.id} ${value.changed.view.transaction.revision}`);
    if (value.kind === kind) return [ids, value.resumeToken()];
  }
}

describe('watch', () => {
  it('watch: a relayer begins with its open transactions, page by page, and a token goes on where it stands', async () => {
    const rig = await useCaseRig();
    const names = Array.from({ length: 45 }, (_, index) => `t${String(index).padStart(2, '0')}`);
    for (const id of names) await rig.add(pendingOf(id));
    await rig.add(pendingOf('ended', { status: 'canceled' }));
    await rig.add(pendingOf('of another', { relayerId: 'r2' }));
    const [ids, token] = await until(watch(rig), 'snapshot_complete');
    assert.deepEqual(
      ids,
      names.map((id) => `${id} 2`),
    );

    // A watch that ends within the snapshot goes on within it, and gets what changed since with the changes.
    const started = watch(rig);
    let early = '';
    for (let count = 0; count < 21; count++) {
      const { value } = await started.next();
      assert.ok(value !== undefined);
      early = value.resumeToken();
    }
    await started.return();
    await rig.change('t03', { statusReason: 'waiting: again' });
    await rig.change('t30', { statusReason: 'waiting: again' });
    const [rest] = await until(watch(rig, { resumeToken: early }), 'snapshot_complete');
    assert.deepEqual(rest, [
      ...names
        .slice(21)
        .filter((id) => id !== 't30')
        .map((id) => `${id} 2`),
      't03 3',
      't30 3',
    ]);

    const [since] = await until(watch(rig, { resumeToken: token }), 'snapshot_complete');
    assert.deepEqual(since, ['t03 3', 't30 3']);
    await rig.close();
  });

  it('watch: one transaction is told as it is, then as it changes, and the watch ends with it', async () => {
    const rig = await useCaseRig();
    await rig.add(pendingOf('a'));
    const messages = watch(rig, { transactionId: 'a' });
    const { value: first } = await messages.next();
    const seen = [first ?? assert.fail('the watch ended')];
    await rig.add(pendingOf('b'));
    await rig.change('a', { status: 'canceled' });
    for await (const message of messages) seen.push(message);
    assert.deepEqual(seen.map(statusOf), ['pending', 'canceled']);
    assert.deepEqual(await collect(watch(rig, { transactionId: 'a' })), ['canceled']);
    assert.deepEqual((await errorOf(watch(rig, { transactionId: 'none' }).next())).slice(0, 2), ['not_found', 'TRANSACTION_NOT_FOUND']);
    await rig.close();
  });

  it('watch: is never silent for longer than a heartbeat, and looks again then', async () => {
    const rig = await useCaseRig();
    await rig.add(pendingOf('a'));
    const messages = watch(rig, {}, 5);
    await until(messages, 'snapshot_complete');
    await until(messages, 'heartbeat');
    // Another process changes it, and nothing is published.
    const { transaction } = await rig.read('a');
    await rig.store.commit([rig.store.change.updateTransaction(next(transaction, { statusReason: 'waiting: again' }))]);
    const { value } = await messages.next();
    assert.equal(value?.kind, 'transaction');
    await rig.close();
  });

  it('watch: a token of a later state, of another watch, or of removed changes has expired', async () => {
    const rig = await useCaseRig();
    await rig.add(pendingOf('a'));
    const scope = { databaseId: await rig.store.read.databaseId(), relayerId: 'r1', transactionId: null };
    const { last } = await rig.store.read.changePositions('r1');
    const expired = (why: string) => [
      'precondition',
      'RESUME_TOKEN_EXPIRED',
      `resume_token ${why}; start a new watch without a resume_token`,
      {},
    ];
    const cases: readonly (readonly [token: string, why: string])[] = [
      [tokenOf(scope, { position: last + 1, snapshotPlace: null }), 'is from a later state of the database'],
      [tokenOf({ ...scope, databaseId: 'x' }, { position: 0, snapshotPlace: null }), 'is from another database, or from before a restore'],
      [
        tokenOf({ ...scope, relayerId: 'r2' }, { position: 0, snapshotPlace: null }),
        'is from a watch with another relayer_id or transaction_id',
      ],
      [
        tokenOf({ ...scope, transactionId: 'a' }, { position: 0, snapshotPlace: null }),
        'is from a watch with another relayer_id or transaction_id',
      ],
      ['%', 'is not a token of WatchTransactions'],
      [`%${tokenOf(scope, { position: 0, snapshotPlace: null })}`, 'is not a token of WatchTransactions'],
      [
        Buffer.from(`${JSON.stringify([scope.databaseId, 'r1', null, 0, null])}${' '.repeat(512)}`).toString('base64url'),
        'is not a token of WatchTransactions',
      ],
      [Buffer.from('{}').toString('base64url'), 'is not a token of WatchTransactions'],
      [Buffer.from('no').toString('base64url'), 'is not a token of WatchTransactions'],
      ...[[-1, null], [1.5, null], ['1', null], [2 ** 53, null], [0, -1], [0, '0'], [0, null, 0], [0]].map((parts) => {
        const text = JSON.stringify([scope.databaseId, scope.relayerId, scope.transactionId, ...parts]);
        return [Buffer.from(text).toString('base64url'), 'is not a token of WatchTransactions'] as const;
      }),
      [`${tokenOf(scope, { position: 0, snapshotPlace: null })}${'A'.repeat(512)}`, 'is not a token of WatchTransactions'],
    ];
    for (const [resumeToken, why] of cases) assert.deepEqual(await errorOf(watch(rig, { resumeToken }).next()), expired(why), resumeToken);
    const cursor = { position: last, snapshotPlace: 0 };
    assert.deepEqual(cursorOf(tokenOf(scope, cursor), scope), cursor);
    await rig.close();
  });
});

describe('wait', () => {
  it('wait: each state ends the waits for it, and a final one ends all', () => {
    const reached = (until: WaitUntil) =>
      (['pending', 'sent', 'submitted', 'mined', 'confirmed', 'failed', 'expired', 'canceled'] as const).filter((status) =>
        isReached(until, status),
      );
    const final = ['confirmed', 'failed', 'expired', 'canceled'];
    assert.deepEqual(reached('submitted'), ['submitted', 'mined', ...final]);
    assert.deepEqual(reached('mined'), ['mined', ...final]);
    assert.deepEqual(reached('final'), final);
  });

  it('wait: ends by a change, by its time, by a signal, or at once', async () => {
    const rig = await useCaseRig();
    await rig.add(signedOf('a'), [anAttempt({ transactionId: 'a' })]);
    const deps = { read: rig.store.read, feed: rig.feed };
    const wait = { relayerId: 'r1', transactionId: 'a', until: 'final', timeoutMs: longMs } as const;
    const waitedFor = async (over: object, signals: readonly AbortSignal[] = []) =>
      (await waitForTransaction(deps, { ...wait, ...over }, signals)).transaction.status;

    assert.equal(await waitedFor({ until: 'submitted' }), 'submitted');
    assert.equal(await waitedFor({ timeoutMs: 0 }), 'submitted');
    assert.equal(await waitedFor({ timeoutMs: 1 }), 'submitted');
    assert.equal(await waitedFor({}, [AbortSignal.abort()]), 'submitted');
    assert.deepEqual((await errorOf(waitedFor({ relayerId: 'r2' }))).slice(0, 2), ['not_found', 'TRANSACTION_NOT_FOUND']);

    let subscribed = 0;
    const counting: Feed = {
      ...rig.feed,
      subscribe(topic, load) {
        subscribed += 1;
        return rig.feed.subscribe(topic, load);
      },
    };
    const leaving = new AbortController();
    const left = waitForTransaction({ ...deps, feed: counting }, wait, [never, leaving.signal]);
    const ended = waitForTransaction({ ...deps, feed: counting }, wait, []);
    await waitFor('both wait', () => subscribed === 2 || undefined);
    leaving.abort();
    assert.equal((await left).transaction.status, 'submitted');
    await rig.change('a', { status: 'confirmed' });
    assert.equal((await ended).transaction.status, 'confirmed');
    await rig.close();
  });
});

async function collect(messages: AsyncGenerator<WatchMessage>): Promise<string[]> {
  const statuses: string[] = [];
  for await (const message of messages) statuses.push(statusOf(message));
  return statuses;
}

function statusOf(message: WatchMessage): string {
  return message.kind === 'transaction' ? message.changed.view.transaction.status : message.kind;
}
