import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cancelPendingTransactions, cancelTransaction } from '../../../src/core/transaction/cancel-transaction.js';
import { anAttempt } from '../../support/stored-samples.js';
import { errorOf, pendingOf, signedOf, type UseCaseRig, useCaseRig } from './use-case-rig.js';

const cancel = (rig: UseCaseRig, id: string, revision: bigint | null = null) => cancelTransaction(rig.deps, rig.relayer, id, revision);

describe('cancel', () => {
  it('cancel: an unsigned transaction ends at once, without a question to a node', async () => {
    const rig = await useCaseRig();
    await rig.add(pendingOf('a'));
    const { transaction } = await cancel(rig, 'a');
    assert.deepEqual(
      [transaction.status, transaction.intent, transaction.statusReason],
      ['canceled', 'cancel', 'canceled before it was signed'],
    );
    assert.deepEqual((await rig.read('a')).transaction, transaction);
    assert.deepEqual([rig.drafts.length, rig.events.map(({ status }) => status)], [0, ['canceled']]);
    await rig.close();
  });

  it('cancel: a signed one is outbid in its slot by an attempt that does nothing and has no limit in time', async () => {
    const rig = await useCaseRig({ draft: `0x${'22'.repeat(32)}` });
    const first = anAttempt({ transactionId: 'a' });
    await rig.add(signedOf('a', { validUntilMs: 9_000_000_000_000 }), [first]);
    const { transaction, shown } = await cancel(rig, 'a');
    const insteadOf = transaction.content;
    assert.deepEqual(rig.drafts, [
      { relayer: rig.relayer, content: 'filler', insteadOf, outbids: [first], untaken: [], validUntilMs: null },
    ]);
    assert.deepEqual(
      [transaction.intent, transaction.status, transaction.nonce, transaction.liveVersion, transaction.validUntilMs],
      ['cancel', 'submitted', 0n, 2, 9_000_000_000_000],
    );
    assert.deepEqual([shown?.hash, shown?.version, shown?.purpose, shown?.nonce], [`0x${'22'.repeat(32)}`, 2, 'cancel', 0n]);
    assert.equal(rig.events.length, 1, 'its callers hear of it although its status stays');
    await rig.close();
  });

  it('cancel: a second cancel changes nothing, and what is final or expires is not canceled', async () => {
    const rig = await useCaseRig();
    await rig.add(signedOf('being canceled', { intent: 'cancel' }), [anAttempt({ transactionId: 'being canceled' })]);
    await rig.add(pendingOf('canceled', { status: 'canceled', intent: 'cancel' }));
    await rig.add(signedOf('expires', { intent: 'expire' }), [anAttempt({ transactionId: 'expires', hash: '0x02', nonce: 1n })]);
    for (const id of ['being canceled', 'canceled']) {
      const before = (await rig.read(id)).transaction;
      assert.deepEqual((await cancel(rig, id)).transaction, before);
    }
    assert.deepEqual(await errorOf(cancel(rig, 'expires')), [
      'precondition',
      'TRANSACTION_EXPIRED',
      'the transaction is expiring, so it can no longer be canceled',
      { transaction_id: 'expires' },
    ]);
    assert.deepEqual(rig.events, []);
    await rig.close();
  });

  it('cancel: only at the expected revision, also if that changes while the attempt is drafted', async () => {
    const rig = await useCaseRig({ draft: '0x02' });
    await rig.add(signedOf('a'), [anAttempt({ transactionId: 'a' })]);
    const stale = (revision: number, expected: bigint) => [
      'stale',
      'REVISION_MISMATCH',
      `the transaction has revision ${revision}, not ${expected}; read it again`,
      { transaction_id: 'a', revision: String(revision) },
    ];
    assert.deepEqual(await errorOf(cancel(rig, 'a', 7n)), stale(2, 7n));
    rig.answers.whileDrafting = () => rig.change('a', { statusReason: 'waiting: longer' });
    assert.deepEqual(await errorOf(cancel(rig, 'a', 2n)), stale(3, 2n));
    assert.equal((await rig.store.read.transactionsById(['a']))[0]?.attempts.length, 1);
    await rig.close();
  });

  it('cancel: a transaction without a number is given up, unless an attempt never dies by itself', async () => {
    const rig = await useCaseRig({ unsequenced: { whyEndless: ({ hash }) => (hash === '0x0b' ? 'it stays valid for ever' : null) } });
    await rig.add(signedOf('dies', { nonce: null }), [anAttempt({ transactionId: 'dies', nonce: null, hash: '0x0a' })]);
    await rig.add(signedOf('endless', { nonce: null }), [anAttempt({ transactionId: 'endless', nonce: null, hash: '0x0b' })]);
    const { transaction } = await cancel(rig, 'dies');
    assert.deepEqual(
      [transaction.intent, transaction.status, transaction.statusReason],
      ['cancel', 'submitted', 'being canceled: it is not rebroadcast, but may still be mined until its attempts expire'],
    );
    assert.equal(rig.events.length, 1);
    assert.deepEqual(await errorOf(cancel(rig, 'endless')), [
      'precondition',
      'CANCEL_NOT_POSSIBLE',
      'it stays valid for ever',
      { transaction_id: 'endless' },
    ]);
    await rig.close();
  });

  it('cancel: one that is signed meanwhile is outbid instead', async () => {
    const rig = await useCaseRig({ draft: '0x02' });
    await rig.add(pendingOf('a'));
    const { move } = rig.deps.lanes;
    let moves = 0;
    Object.assign(rig.deps.lanes, {
      async move(...[seen, decide]: Parameters<typeof move>) {
        moves += 1;
        if (moves === 1) {
          await rig.store.commit([rig.store.change.insertAttempt(anAttempt({ transactionId: 'a' }))]);
          await rig.change('a', { status: 'sent', nonce: 0n, liveVersion: 1 });
        }
        return move(seen, decide);
      },
    });
    const { transaction } = await cancel(rig, 'a');
    assert.deepEqual([transaction.status, transaction.intent, transaction.liveVersion, moves], ['sent', 'cancel', 2, 2]);
    await rig.close();
  });

  it('cancel all: newest first; what is mined or expires is left, and what cannot be canceled is named', async () => {
    const rig = await useCaseRig({ unsequenced: { whyEndless: () => 'it stays valid for ever' } });
    await rig.add(pendingOf('older'));
    await rig.add(pendingOf('newer'));
    await rig.add(pendingOf('of another', { relayerId: 'r2' }));
    await rig.add(signedOf('endless', { nonce: null }), [anAttempt({ transactionId: 'endless', nonce: null })]);
    await rig.add(signedOf('expires', { intent: 'expire' }), [anAttempt({ transactionId: 'expires', hash: '0x02', nonce: 1n })]);
    await rig.add(signedOf('mined', { status: 'mined' }), [anAttempt({ transactionId: 'mined', hash: '0x03', nonce: 2n })]);
    assert.deepEqual(await cancelPendingTransactions(rig.deps, rig.relayer), { canceledIds: ['newer', 'older'], failedIds: ['endless'] });
    await rig.close();
  });

  it('cancel all: an error that is no refusal ends it', async () => {
    const rig = await useCaseRig();
    await rig.add(pendingOf('a'));
    Object.assign(rig.deps.lanes, { move: () => Promise.reject(new Error('broken')) });
    await assert.rejects(cancelPendingTransactions(rig.deps, rig.relayer), { message: 'broken' });
    await rig.close();
  });
});
