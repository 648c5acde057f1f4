import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Approval, awaitsApproval, isApproved } from '../../../src/core/records/transaction.js';
import { cancelTransaction } from '../../../src/core/transaction/cancel-transaction.js';
import { approveTransaction, rejectTransaction } from '../../../src/core/transaction/decide-approval.js';
import { isNewlyDelayed } from '../../../src/core/transaction/delays.js';
import { noOrigin } from '../../../src/core/transaction/journal.js';
import { replaceTransaction } from '../../../src/core/transaction/replace-transaction.js';
import { sendTransaction, sendTransactions } from '../../../src/core/transaction/send-transaction.js';
import { signAttempt } from '../../../src/core/transaction/sign-attempt.js';
import { wanted } from '../../support/evm.js';
import { anAttempt } from '../../support/stored-samples.js';
import { errorOf, nowMs, pendingOf, signedOf, type UseCaseRig, useCaseRig } from './use-case-rig.js';

const needed = { ruleId: 'large', required: 2, withinMs: 60_000 };
const anApproval = (over: Partial<Approval> = {}): Approval => ({
  ...{ ruleId: 'large', required: 2, senders: ['shop'], given: [], rejected: null, expiresAtMs: nowMs + 60_000 },
  ...over,
});
const given = (...keys: readonly string[]) => keys.map((apiKeyId) => ({ apiKeyId, atMs: nowMs }));
/** Decides about the transaction as it is, or about another revision. */
const by = async (rig: UseCaseRig, id: string, apiKeyId: string, seen?: bigint) => {
  const expectedRevision = seen ?? BigInt((await rig.store.read.transaction(id))?.transaction.revision ?? 0);
  return { apiKeyId, expectedRevision, isUsable: (id: string) => id !== 'revoked' };
};
const approve = async (rig: UseCaseRig, id: string, ...how: [string, bigint?]) =>
  approveTransaction(rig.deps, rig.relayer, id, await by(rig, id, ...how));
const reject = async (rig: UseCaseRig, id: string, ...how: [string, bigint?]) =>
  rejectTransaction(rig.deps, rig.relayer, id, await by(rig, id, ...how));
const replace = (rig: UseCaseRig, id: string, apiKeyId: string) =>
  replaceTransaction(rig.deps, rig.relayer, id, wanted(), { asker: { apiKeyId } });

describe('approvals', () => {
  it('approvals: a transaction that needs them is stored with them, and an event asks for them', async () => {
    const rig = await useCaseRig({ approval: needed });
    const { transaction } = await sendTransaction(rig.deps, rig.relayer, wanted(), { origin: { ...noOrigin, apiKeyId: 'shop' } });
    assert.deepEqual([transaction.status, transaction.approval], ['pending', anApproval()]);
    assert.equal(transaction.statusReason, 'waiting: 0 of 2 approvals that the rule large asks for; will send when all are given');
    assert.deepEqual((await rig.read('new')).transaction, transaction);
    assert.deepEqual(rig.told, ['approval_required new', 'accepted new']);
    assert.deepEqual([awaitsApproval(transaction), isApproved(transaction)], [true, false]);
    await rig.close();
  });

  it('approvals: each transaction of a batch needs its own', async () => {
    const rig = await useCaseRig({ approval: needed });
    let count = 0;
    const deps = { ...rig.deps, ids: { ...rig.deps.ids, timeOrdered: () => `batch-${count++}` } };
    const views = await sendTransactions(deps, rig.relayer, [{ request: wanted() }, { request: wanted() }]);
    assert.deepEqual(
      views.map(({ transaction }) => transaction.approval),
      [anApproval({ senders: [] }), anApproval({ senders: [] })],
    );
    assert.deepEqual(rig.told, ['approval_required batch-0', 'approval_required batch-1', 'accepted batch-0', 'accepted batch-1']);
    await rig.close();
  });

  it('approvals: a key counts once, and with the last one the transaction waits for its signature', async () => {
    const rig = await useCaseRig();
    await rig.add(pendingOf('a', { approval: anApproval() }));
    const first = (await approve(rig, 'a', 'boss', 2n)).transaction;
    assert.deepEqual(first.approval?.given, given('boss'));
    assert.equal(first.statusReason, 'waiting: 1 of 2 approvals that the rule large asks for; will send when all are given');
    assert.equal(awaitsApproval(first), true);
    // Also with the revision that it had before.
    assert.deepEqual((await approve(rig, 'a', 'boss', 2n)).transaction, first);
    const { transaction: last } = await approve(rig, 'a', 'bootstrap', BigInt(first.revision));
    assert.deepEqual([last.approval?.given, last.statusReason], [given('boss', 'bootstrap'), 'waiting: 1 wei']);
    assert.equal(isApproved(last), true);
    assert.deepEqual((await approve(rig, 'a', 'bootstrap')).transaction, last);
    assert.equal(rig.events.length, 2, 'each approval is an event, a repeated one is none');
    const notNeeded = ['precondition', 'APPROVAL_NOT_NEEDED', 'the transaction has all approvals that it needs', { transaction_id: 'a' }];
    assert.deepEqual(await errorOf(approve(rig, 'a', 'third')), notNeeded);
    assert.deepEqual(await errorOf(reject(rig, 'a', 'third')), notNeeded);
    await rig.close();
  });

  it('approvals: not by a key that sent it, not of what was not seen, not too late, and not of what needs none', async () => {
    const rig = await useCaseRig();
    await rig.add(pendingOf('a', { approval: anApproval() }));
    await rig.add(pendingOf('late', { approval: anApproval({ expiresAtMs: nowMs }) }));
    await rig.add(pendingOf('free'));
    await rig.add(pendingOf('ended', { status: 'expired', intent: 'expire', approval: anApproval({ given: given('boss') }) }));
    const refused = {
      own: await errorOf(approve(rig, 'a', 'shop')),
      unseen: await errorOf(approve(rig, 'a', 'boss', 1n)),
      unseenRejection: await errorOf(reject(rig, 'a', 'boss', 1n)),
      late: await errorOf(approve(rig, 'late', 'boss')),
      free: await errorOf(approve(rig, 'free', 'boss')),
      ended: await errorOf(approve(rig, 'ended', 'boss')),
      missing: await errorOf(approve(rig, 'b', 'boss')),
    };
    assert.deepEqual(
      Object.entries(refused).map(([name, [kind, reason]]) => `${name}: ${kind} ${reason}`),
      [
        'own: forbidden APPROVAL_BY_SENDER',
        'unseen: stale REVISION_MISMATCH',
        'unseenRejection: stale REVISION_MISMATCH',
        'late: precondition TRANSACTION_EXPIRED',
        'free: precondition APPROVAL_NOT_NEEDED',
        'ended: precondition TRANSACTION_EXPIRED',
        'missing: not_found TRANSACTION_NOT_FOUND',
      ],
    );
    assert.equal(refused.own[2], 'the API key shop sent the transaction or replaced its content; another key must approve it');
    assert.equal(refused.late[2], `the transaction had to be approved by ${new Date(nowMs).toISOString()}; send it again`);
    assert.deepEqual(rig.events, []);
    await rig.close();
  });

  it('approvals: a rejection ends it and names the key, also if the key sent it', async () => {
    const rig = await useCaseRig();
    await rig.add(pendingOf('a', { approval: anApproval({ given: given('boss') }) }));
    const { transaction } = await reject(rig, 'a', 'shop');
    assert.deepEqual(
      [transaction.status, transaction.intent, transaction.statusReason, transaction.approval?.rejected],
      ['canceled', 'cancel', 'rejected by the API key shop', { apiKeyId: 'shop', atMs: nowMs }],
    );
    assert.deepEqual((await reject(rig, 'a', 'shop')).transaction, transaction);
    assert.equal((await errorOf(reject(rig, 'a', 'boss')))[1], 'TRANSACTION_CANCELED');
    assert.equal((await errorOf(approve(rig, 'a', 'boss')))[1], 'TRANSACTION_CANCELED');
    await rig.close();
  });

  it('approvals: new content has none yet, and nobody who wrote any of it can approve it', async () => {
    const rig = await useCaseRig({ approval: needed, wanted: { valueWei: 9n, validUntilMs: null } });
    await rig.add(pendingOf('a', { approval: anApproval({ given: given('boss') }) }));
    const { transaction } = await replace(rig, 'a', 'till');
    assert.deepEqual(
      [transaction.approval, transaction.statusReason?.startsWith('waiting: 0 of 2')],
      [anApproval({ senders: ['shop', 'till'] }), true],
    );
    assert.deepEqual(rig.told, ['approval_required a']);
    assert.equal((await errorOf(approve(rig, 'a', 'till')))[1], 'APPROVAL_BY_SENDER');
    assert.equal((await errorOf(approve(rig, 'a', 'shop')))[1], 'APPROVAL_BY_SENDER');
    // Of rules that ask for none, it needs none.
    rig.answers.approval = null;
    assert.equal((await replace(rig, 'a', 'till')).transaction.approval, null);
    await rig.close();
  });

  it('approvals: a replacement of a signed transaction cannot wait for them, and one in time alone is too late', async () => {
    const rig = await useCaseRig({ approval: needed, wanted: { valueWei: 9n, validUntilMs: null } });
    await rig.add(signedOf('a', { approval: anApproval({ given: given('boss', 'bootstrap') }) }), [anAttempt({ transactionId: 'a' })]);
    const [kind, reason, sentence] = await errorOf(replace(rig, 'a', 'shop'));
    assert.deepEqual(
      [kind, reason, sentence],
      [
        'forbidden',
        'POLICY_DENIED',
        'the rule large asks for approvals of this content, and the transaction is signed already; cancel it and send the content again',
      ],
    );
    assert.deepEqual(rig.drafts, []);
    await rig.add(pendingOf('late', { approval: anApproval({ expiresAtMs: nowMs }) }));
    assert.equal((await errorOf(replace(rig, 'late', 'shop')))[1], 'TRANSACTION_EXPIRED');
    await rig.close();
  });

  it('approvals: content that is allowed and replaces approved content is not approved', async () => {
    const rig = await useCaseRig({ draft: '0x02', wanted: { valueWei: 9n, validUntilMs: null } });
    await rig.add(signedOf('a', { approval: anApproval({ given: given('boss', 'bootstrap') }) }), [anAttempt({ transactionId: 'a' })]);
    const { transaction } = await replace(rig, 'a', 'shop');
    assert.deepEqual([transaction.liveVersion, transaction.approval], [2, null]);
    assert.equal(rig.drafts[0]?.approvals, undefined);
    await rig.add(signedOf('b', { approval: anApproval({ given: given('boss', 'bootstrap') }), nonce: 1n }), [
      anAttempt({ transactionId: 'b', hash: '0x0b', nonce: 1n }),
    ]);
    rig.answers.draft = '0x03';
    const canceled = await cancelTransaction(rig.deps, rig.relayer, 'b');
    assert.deepEqual(canceled.transaction.approval?.given, given('boss', 'bootstrap'), 'a canceled one shows who approved it');
    await rig.close();
  });

  it('approvals: nothing signs content without them', async () => {
    const rig = await useCaseRig();
    const open = { transaction: pendingOf('a', { approval: anApproval({ given: given('boss') }) }), attempts: [] };
    const draft = { hash: '0x02' } as never;
    await assert.rejects(
      signAttempt(rig.deps, rig.relayer, open, { draft, nonce: 0n, purpose: 'content' }),
      /^Error: transaction a is not approved$/,
    );
    await rig.close();
  });

  it('approvals: of a key that was revoked since none counts, and it waits for another', async () => {
    const rig = await useCaseRig();
    await rig.add(pendingOf('a', { approval: anApproval({ given: given('revoked') }) }));
    const { transaction } = await approve(rig, 'a', 'boss');
    assert.deepEqual([transaction.approval?.given, awaitsApproval(transaction)], [given('boss'), true]);
    assert.equal(isApproved((await approve(rig, 'a', 'bootstrap')).transaction), true);
    await rig.close();
  });

  it('approvals: none of what valid until has passed of', async () => {
    const rig = await useCaseRig();
    await rig.add(pendingOf('a', { approval: anApproval(), validUntilMs: nowMs }));
    const [kind, reason, sentence] = await errorOf(approve(rig, 'a', 'boss'));
    assert.deepEqual([kind, reason], ['precondition', 'TRANSACTION_EXPIRED']);
    assert.match(sentence, /^valid_until of the transaction has passed/);
    assert.equal((await reject(rig, 'a', 'boss')).transaction.status, 'canceled');
    await rig.close();
  });

  it('approvals: the time in which people approve is no delay', () => {
    const limits = { fastest: 10, fast: 20, average: 30, safeLow: 40 };
    const isLate = (approval: Approval, atMs: number) =>
      isNewlyDelayed({ ...pendingOf('a', { createdAtMs: 0, statusReason: 'waiting: 1', approval }), speed: 'fast' }, limits, atMs);
    const decided = (atMs: number) => [{ apiKeyId: 'boss', atMs }];
    assert.equal(isLate(anApproval({ required: 2, given: decided(500) }), 10_000), false);
    assert.equal(isLate(anApproval({ required: 1, given: decided(500) }), 519), false);
    assert.equal(isLate(anApproval({ required: 1, given: decided(500) }), 520), true);
  });
});
