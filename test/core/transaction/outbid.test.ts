import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Refusal } from '../../../src/core/ports/chain/drafts.js';
import { windowOf } from '../../../src/core/records/judgement.js';
import { attemptsInSlot, earlierAlike, minimumReplacementBid, outbid } from '../../../src/core/transaction/outbid.js';
import { replaceTransaction } from '../../../src/core/transaction/replace-transaction.js';
import { evmContent, evmRequest } from '../../support/evm.js';
import { anAttempt, aStoredResponse } from '../../support/stored-samples.js';
import { errorOf, nowMs, pendingOf, signedOf, type UseCaseRig, useCaseRig } from './use-case-rig.js';

const replace = (rig: UseCaseRig, id: string, options = {}) => replaceTransaction(rig.deps, rig.relayer, id, evmRequest(), options);
const first = anAttempt({ transactionId: 'a' });
const later = nowMs + 60_000;

describe('replace', () => {
  it('replace: an unsigned transaction is changed in place, with the response that its caller gets again', async () => {
    const rig = await useCaseRig({ wanted: { valueWei: 9n, validUntilMs: later } });
    await rig.add(pendingOf('a', { validUntilMs: nowMs + 1_000 }));
    const views: unknown[] = [];
    const response = aStoredResponse({});
    const saveResponse = (view: unknown) => {
      views.push(view);
      return [rig.store.change.putStoredResponse(response, nowMs)];
    };
    const replaced = await replace(rig, 'a', { saveResponse });
    assert.deepEqual(
      [replaced.transaction.content, replaced.transaction.validUntilMs, replaced.transaction.statusReason, replaced.transaction.status],
      [evmContent({ valueWei: 9n }), later, 'waiting: 9 wei', 'pending'],
    );
    assert.deepEqual(views, [replaced]);
    assert.deepEqual(await rig.store.read.storedResponse(response, nowMs), response);
    assert.equal(rig.events.length, 1, 'its callers hear of it although its status stays');
    // The request is read first alone, so that a bad body is told before a missing transaction.
    assert.deepEqual(
      rig.contexts.map(({ earlier, nowMs: at }) => [earlier, at]),
      [
        [null, nowMs],
        [evmContent(), nowMs],
      ],
    );
    await rig.close();
  });

  it('replace: reserves the greater amount with the change, so one that is refused reserves nothing', async () => {
    const limit = { asset: 'native', amount: 10n, windowMs: 60_000, per: 'relayer' } as const;
    const refused: Refusal = { refused: 'reverts', sentence: 'it reverts', lasting: true };
    const rig = await useCaseRig({ limit, draft: refused, wanted: { valueWei: 9n, validUntilMs: null } });
    const { change, read } = rig.store;
    const name = windowOf('small', limit, { apiKeyId: null });
    const openAmount = async () => (await read.spendWindows('r1', [name]))[0]?.window.open;
    const reservedOf = async (id: string) => (await read.reservation(id))?.held.map(({ amount }) => amount);
    await rig.add(signedOf('a'), [first]);
    await rig.add(pendingOf('b'));
    await rig.store.commit([
      change.storeSpendWindow({ relayerId: 'r1', name, version: 'v', window: { windowMs: 60_000, open: 5n, spent: [] } }, null),
      change.insertReservation('a', { held: [{ window: name, amount: 5n }], contents: [] }),
    ]);
    assert.deepEqual((await errorOf(replace(rig, 'a'))).slice(0, 2), ['invalid', 'EXECUTION_REVERTED']);
    assert.deepEqual([await openAmount(), await reservedOf('a')], [5n, [5n]]);
    rig.answers.draft = '0x02';
    rig.answers.whileDrafting = () => rig.change('a', { status: 'mined' });
    assert.equal((await errorOf(replace(rig, 'a')))[0], 'precondition', 'it was mined meanwhile');
    assert.deepEqual([await openAmount(), await reservedOf('a')], [5n, [5n]]);
    await rig.change('a', { status: 'submitted' });
    rig.answers.whileDrafting = async () => undefined;
    await replace(rig, 'a');
    assert.deepEqual([await openAmount(), await reservedOf('a')], [9n, [5n, 4n]]);
    rig.answers.wanted = { valueWei: 2n, validUntilMs: null };
    assert.equal((await errorOf(replace(rig, 'b')))[1], 'SPEND_LIMIT_EXCEEDED');
    const drafts = rig.drafts.length;
    rig.answers.wanted = { valueWei: 11n, validUntilMs: null };
    assert.equal((await errorOf(replace(rig, 'a')))[1], 'SPEND_LIMIT_EXCEEDED');
    assert.equal(rig.drafts.length, drafts, 'no node was asked');
    rig.answers.wanted = { valueWei: 1n, validUntilMs: null };
    await Promise.all([replace(rig, 'b'), replace(rig, 'a')]);
    assert.deepEqual([await openAmount(), await reservedOf('a'), await reservedOf('b')], [10n, [5n, 4n], [1n]]);
    await rig.close();
  });

  it('replace: a signed one is outbid with the new content, and keeps its limit in time unless another is given', async () => {
    for (const validUntilMs of [null, later]) {
      const rig = await useCaseRig({ draft: '0x02', wanted: { valueWei: 9n, validUntilMs } });
      await rig.add(signedOf('a', { validUntilMs: later + 1 }), [first]);
      const expected = validUntilMs ?? later + 1;
      const response = aStoredResponse({});
      const { transaction, shown } = await replace(rig, 'a', { saveResponse: () => [rig.store.change.putStoredResponse(response, nowMs)] });
      const content = evmContent({ valueWei: 9n });
      assert.deepEqual(rig.drafts, [{ relayer: rig.relayer, content, outbids: [first], untaken: [], validUntilMs: expected }]);
      assert.deepEqual(
        [transaction.content, transaction.validUntilMs, transaction.intent, shown?.purpose, shown?.version],
        [content, expected, 'content', 'content', 2],
      );
      assert.deepEqual(await rig.store.read.storedResponse(response, nowMs), response);
      assert.equal(rig.events.length, 1);
      await rig.close();
    }
  });

  it('replace: an identical newest attempt stays, and takes the new limit in time', async () => {
    const rig = await useCaseRig({ draft: first.hash, wanted: { valueWei: 1n, validUntilMs: later } });
    await rig.add(signedOf('a'), [first]);
    const { transaction, shown } = await replace(rig, 'a');
    assert.deepEqual([shown, transaction.liveVersion, transaction.validUntilMs], [first, 1, later]);
    assert.equal((await rig.store.read.transactionsById(['a']))[0]?.attempts.length, 1);
    assert.equal(rig.events.length, 1);
    await rig.close();
  });

  it('replace: what is refused changes nothing, and the caller reads why', async () => {
    const metadata = { required: '7' };
    const cases: readonly (readonly [Refusal['refused'], kind: string, reason: string, metadata: object])[] = [
      ['reverts', 'invalid', 'EXECUTION_REVERTED', {}],
      ['outdated', 'invalid', 'EXECUTION_REVERTED', {}],
      ['unusable', 'invalid', 'EXECUTION_REVERTED', {}],
      ['insufficient_funds', 'precondition', 'INSUFFICIENT_FUNDS', metadata],
      ['above_cap', 'invalid', 'GAS_PRICE_CAP_EXCEEDED', metadata],
      ['bump_limit', 'invalid', 'GAS_PRICE_CAP_EXCEEDED', metadata],
      ['underpriced', 'invalid', 'REPLACEMENT_UNDERPRICED', metadata],
      ['not_allowed', 'invalid', 'RECEIVER_NOT_ALLOWED', {}],
      ['rejected', 'unavailable', 'NODE_UNAVAILABLE', {}],
      ['gas_limit', 'invalid', 'FIELD_INVALID', metadata],
    ];
    const rig = await useCaseRig();
    await rig.add(signedOf('a'), [first]);
    for (const [refused, kind, reason, told] of cases) {
      rig.answers.draft = { refused, sentence: `it is ${refused}`, lasting: true, metadata } as unknown as Refusal;
      assert.deepEqual(await errorOf(replace(rig, 'a')), [kind, reason, `it is ${refused}`, told]);
    }
    const [open] = await rig.store.read.transactionsById(['a']);
    assert.deepEqual([open?.transaction.revision, open?.attempts.length, rig.events], [2, 1, []]);
    await rig.close();
  });

  it('replace: not after its limit in time, unless a later one is given, and not while the relayer is paused', async () => {
    const rig = await useCaseRig();
    await rig.add(pendingOf('late', { validUntilMs: nowMs }));
    assert.deepEqual(await errorOf(replace(rig, 'late')), [
      'precondition',
      'TRANSACTION_EXPIRED',
      `valid_until of the transaction has passed (${new Date(nowMs).toISOString()}); set a later valid_until to replace it`,
      { transaction_id: 'late' },
    ]);
    rig.answers.wanted = { valueWei: 2n, validUntilMs: later };
    assert.equal((await replace(rig, 'late')).transaction.validUntilMs, later);
    await rig.add(pendingOf('in time', { validUntilMs: nowMs + 1 }));
    rig.answers.wanted = { valueWei: 2n, validUntilMs: null };
    assert.equal((await replace(rig, 'in time')).transaction.validUntilMs, nowMs + 1);
    Object.assign(rig.deps.directory, { relayer: () => ({ ...rig.relayer, paused: true }) });
    assert.deepEqual((await errorOf(replace(rig, 'in time'))).slice(0, 2), ['inactive', 'RELAYER_PAUSED']);
    Object.assign(rig.deps.directory, { relayer: () => undefined });
    assert.equal((await replace(rig, 'in time')).transaction.revision, 4, 'one that is being removed is judged as it was');
    await rig.close();
  });

  it('replace: with attempts that cannot outbid one another, the newest content is queued in place of an earlier one', async () => {
    const rig = await useCaseRig({ unsequenced: { replacement: 'queue' }, wanted: { valueWei: 9n, validUntilMs: null } });
    const attempt = anAttempt({ transactionId: 'a', nonce: null });
    const queued = evmContent({ valueWei: 3n });
    await rig.add(signedOf('a', { nonce: null, queued, validUntilMs: later }), [attempt]);
    const response = aStoredResponse({});
    const { transaction } = await replace(rig, 'a', { saveResponse: () => [rig.store.change.putStoredResponse(response, nowMs)] });
    assert.deepEqual(rig.contexts.at(-1)?.earlier, queued, 'absent fields are those of the newest content');
    assert.deepEqual(
      [transaction.queued, transaction.content, transaction.validUntilMs, transaction.statusReason],
      [
        evmContent({ valueWei: 9n }),
        evmContent(),
        later,
        'waiting: the replacement is queued; will send when the earlier attempts can no longer be mined',
      ],
    );
    assert.deepEqual(await rig.store.read.storedResponse(response, nowMs), response);
    assert.deepEqual([rig.events.length, rig.drafts.length], [1, 0]);
    await rig.close();
  });

  it('replace: an unsequenced attempt that is identical to that of another transaction is refused', async () => {
    const rig = await useCaseRig({ draft: '0x0a', unsequenced: { replacement: 'outbid' } });
    await rig.add(signedOf('other', { nonce: null }), [anAttempt({ transactionId: 'other', nonce: null, hash: '0x0a' })]);
    await rig.add(signedOf('a', { nonce: null }), [anAttempt({ transactionId: 'a', nonce: null })]);
    assert.deepEqual(await errorOf(replace(rig, 'a')), [
      'invalid',
      'FIELD_INVALID',
      'the new content is identical to transaction other (same signature); change it',
      { transaction_id: 'other' },
    ]);
    await rig.close();
  });
});

describe('an attempt that outbids', () => {
  it('outbid: is not stored if the slot has moved since it was drafted', async () => {
    const moves: readonly ((rig: UseCaseRig) => Promise<void>)[] = [
      // Another instance has signed one.
      (rig) => rig.store.commit([rig.store.change.insertAttempt({ ...first, version: 2, hash: '0x03' })]),
      // It got another nonce.
      (rig) => rig.change('a', { nonce: 4n }),
      // It lost its slot.
      (rig) => rig.change('a', { status: 'pending', nonce: null, liveVersion: null }),
      // It is valid for longer.
      (rig) => rig.change('a', { validUntilMs: later }),
    ];
    for (const move of moves) {
      const rig = await useCaseRig({ draft: '0x02', whileDrafting: () => move(rig) });
      await rig.add(signedOf('a'), [first]);
      const [seen] = await rig.store.read.transactionsById(['a']);
      assert.ok(seen !== undefined);
      const outcome = await outbid(rig.deps, rig.relayer, seen, { purpose: 'expire', replacement: null, require: () => undefined });
      assert.equal(outcome, null);
      assert.deepEqual(rig.events, []);
      await rig.close();
    }
  });

  it('outbid: need not outbid what no node took, and is not one of these again', async () => {
    const untaken = anAttempt({ transactionId: 'a', version: 2, purpose: 'cancel', hash: '0x03' });
    const rig = await useCaseRig({ draft: '0x03' });
    await rig.add(signedOf('a', { intent: 'cancel', liveVersion: 2 }), [first, untaken]);
    const [seen] = await rig.store.read.transactionsById(['a']);
    assert.ok(seen !== undefined);
    const of = { purpose: 'release_slot', replacement: null, require: () => undefined, untaken: [seen.attempts[1] ?? first] } as const;
    assert.equal(await outbid(rig.deps, rig.relayer, seen, of), null);
    assert.deepEqual(rig.drafts[0]?.outbids, [first]);
    assert.deepEqual(rig.drafts[0]?.untaken, [untaken]);
    rig.answers.draft = '0x04';
    const why = { failureReason: 'fee_limit', statusReason: 'it costs too much' } as const;
    const released = await outbid(rig.deps, rig.relayer, { ...seen, transaction: { ...seen.transaction } }, { ...of, why });
    assert.deepEqual(
      [released?.transaction.failureReason, released?.transaction.statusReason, released?.transaction.liveVersion],
      ['fee_limit', 'it costs too much; replaced by a self-transfer at nonce 0 to unblock later transactions', 3],
    );
    await rig.close();
  });

  it('outbid: nothing is signed during a hold', async () => {
    const rig = await useCaseRig({ draft: '0x02' });
    await rig.add(signedOf('a'), [first]);
    Object.assign(rig.deps.directory.chainOf(rig.relayer), { sign: () => assert.fail('it was signed') });
    Object.assign(rig.deps, { database: { ownHold: () => 'the clock is wrong' } });
    await assert.rejects(replace(rig, 'a'), { name: 'SigningHeldError', message: 'nothing is signed now: the clock is wrong' });
    await rig.close();
  });

  it('outbid: what is in its slot, what is alike in it, and what replaces all of it', () => {
    const price = (wei: bigint) => ({ kind: 'legacy' as const, gasPriceWei: wei });
    const at = (version: number, nonce: bigint, wei: bigint, over: object = {}) =>
      anAttempt({ transactionId: 'a', version, nonce, fields: { ...first.fields, price: price(wei), ...over } });
    const attempts = [
      at(1, 0n, 900n),
      at(2, 1n, 100n),
      at(3, 1n, 200n, { valueWei: 2n }),
      at(4, 1n, 300n, { data: '0x01' }),
      at(5, 1n, 150n),
    ];
    const open = { transaction: signedOf('a', { nonce: 1n, liveVersion: 5 }), attempts };
    assert.deepEqual(attemptsInSlot(open), attempts.slice(1));
    const live = attempts[4] ?? first;
    assert.deepEqual(
      earlierAlike({ ...open, attempts: [...attempts, at(6, 1n, 1n), { ...at(2, 1n, 1n), purpose: 'cancel' }] }, live).map(
        ({ version }) => version,
      ),
      [2],
    );
    assert.deepEqual(
      earlierAlike({ ...open, attempts: [at(2, 1n, 1n), at(3, 1n, 2n), live] }, live).map(({ version }) => version),
      [3, 2],
      'the newest first',
    );
    assert.deepEqual(minimumReplacementBid(open), { maxFeePerGasWei: 331n, maxPriorityFeePerGasWei: 331n });
    assert.equal(minimumReplacementBid({ ...open, attempts: [] }), null);
  });
});
