import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nothingRefused } from '../../../src/core/errors/read-all.js';
import { ConflictError, StoreAwayError } from '../../../src/core/ports/store/change.js';
import { findByNonce, findTransaction, findWithAttempts } from '../../../src/core/transaction/find-transaction.js';
import { checkTransactions, sendTransaction, sendTransactions } from '../../../src/core/transaction/send-transaction.js';
import { evmContent, evmRequest } from '../../support/evm.js';
import { stellarRelayer } from '../../support/stellar.js';
import { anAttempt, aStoredResponse, sampleLane } from '../../support/stored-samples.js';
import { errorOf, nowMs, pendingOf, signedOf, useCaseRig } from './use-case-rig.js';

describe('send', () => {
  it('send: is stored with its event and its response, and then in the lane', async () => {
    const rig = await useCaseRig({ wanted: { valueWei: 9n, validUntilMs: nowMs + 5 } });
    const response = aStoredResponse({});
    const told: unknown[] = [];
    const saveResponse = (view: unknown) => {
      told.push(view, [...rig.told]);
      return [rig.store.change.putStoredResponse(response, nowMs)];
    };
    const origin = { requestId: 'request', traceParent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', apiKeyId: null };
    const view = await sendTransaction(rig.deps, rig.relayer, evmRequest(), { saveResponse, origin });
    assert.deepEqual(view, {
      shown: null,
      transaction: {
        ...sampleLane,
        id: 'new',
        relayerId: 'r1',
        status: 'pending',
        statusReason: 'waiting: 9 wei',
        failureReason: null,
        intent: 'content',
        content: evmContent({ valueWei: 9n }),
        queued: null,
        nonce: null,
        liveVersion: null,
        mined: null,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
        sentAtMs: null,
        confirmedAtMs: null,
        validUntilMs: nowMs + 5,
        traceParent: origin.traceParent,
        tags: null,
        delays: null,
        approval: null,
        revision: 1,
      },
    });
    assert.deepEqual(told, [view, []], 'the lane gets it only after the commit');
    assert.deepEqual(rig.told, ['accepted new']);
    assert.deepEqual(await rig.read('new'), view);
    assert.deepEqual(await rig.store.read.storedResponse(response, nowMs), response);
    assert.deepEqual(rig.events, [view.transaction]);
    assert.deepEqual(
      rig.contexts.map(({ earlier, nowMs: at }) => [earlier, at]),
      [[null, nowMs]],
    );
    await rig.close();
  });

  it('send: of a lost answer the lane is told, of a refusal it is not', async () => {
    const broken = new Error('disk');
    for (const [error, told] of [
      [new StoreAwayError('away'), [`unanswered ${sampleLane.account}`]],
      [new ConflictError('putStoredResponse'), []],
      [broken, []],
    ] as const) {
      const rig = await useCaseRig();
      Object.assign(rig.deps, { store: { ...rig.store, commit: () => Promise.reject(error) } });
      await assert.rejects(sendTransaction(rig.deps, rig.relayer, evmRequest()), error);
      assert.deepEqual(rig.told, told);
      await rig.close();
    }
  });

  it('send: to a relayer that another instance has deleted is a 404', async () => {
    const rig = await useCaseRig();
    await rig.store.commit([rig.store.change.closeRelayer('r1')]);
    assert.deepEqual(await errorOf(sendTransaction(rig.deps, rig.relayer, evmRequest())), [
      'not_found',
      'RELAYER_NOT_FOUND',
      'Relayer with ID r1 not found',
      { relayer_id: 'r1' },
    ]);
    assert.deepEqual(rig.told, []);
    await rig.close();
  });

  it('send: while too many wait, nothing is stored', async () => {
    const rig = await useCaseRig();
    const full = new Error('full');
    Object.assign(rig.deps.lanes, {
      takeRoom(lane: unknown) {
        assert.deepEqual(lane, sampleLane);
        throw full;
      },
    });
    await assert.rejects(sendTransaction(rig.deps, rig.relayer, evmRequest()), full);
    assert.equal(await rig.store.read.transaction('new'), undefined);
    await rig.close();
  });
});

describe('send together', () => {
  it('send together: are stored with their events and one response, in their order, and then in the lane', async () => {
    const rig = await useCaseRig({ wanted: { valueWei: 9n, validUntilMs: null } });
    let made = 0;
    const asked: unknown[] = [];
    Object.assign(rig.deps.ids, { timeOrdered: () => `new ${++made}` });
    Object.assign(rig.deps.lanes, {
      takeRoom: (...call: unknown[]) => {
        asked.push(call);
        return () => rig.told.push('left room');
      },
    });
    const response = aStoredResponse({});
    const saved: unknown[] = [];
    const saveResponse = (views: unknown) => {
      saved.push(views, [...rig.told]);
      return [rig.store.change.putStoredResponse(response, nowMs)];
    };
    const tags = { externalId: 'order', labels: [] };
    const wanted = [{ request: evmRequest() }, { request: evmRequest(), tags }];
    const views = await sendTransactions(rig.deps, rig.relayer, wanted, { saveResponse });
    assert.deepEqual(
      views.map(({ transaction: { id, tags } }) => [id, tags]),
      [
        ['new 1', null],
        ['new 2', tags],
      ],
    );
    assert.deepEqual(saved, [views, []], 'the lane gets them only after the commit');
    assert.deepEqual(rig.told, ['accepted new 1', 'accepted new 2', 'left room']);
    assert.deepEqual(asked, [[sampleLane, { toSign: 2, toApprove: 0 }]]);
    assert.deepEqual(
      rig.events,
      views.map(({ transaction }) => transaction),
    );
    assert.deepEqual(await Promise.all(['new 1', 'new 2'].map((id) => rig.read(id))), views);
    assert.deepEqual(await rig.store.read.storedResponse(response, nowMs), response);
    const other = { request: evmRequest(), tags: { externalId: 'another', labels: [] } };
    assert.deepEqual(await errorOf(sendTransactions(rig.deps, rig.relayer, [other, { request: evmRequest(), tags }])), [
      'already_exists',
      'EXTERNAL_ID_TAKEN',
      'transactions[1]: external_id order belongs to transaction new 2; an external_id is never used twice',
      { external_id: 'order', transaction_id: 'new 2' },
    ]);
    assert.equal(await rig.store.read.externalIdHolder('r1', 'another'), undefined);
    await rig.close();
  });

  it('send together: from 1 to 100 with different external ids, or none is stored', async () => {
    const rig = await useCaseRig();
    const one = { request: evmRequest() };
    const tagged = { ...one, tags: { externalId: 'x', labels: [] } };
    for (const [wanted, sentence] of [
      [[], 'transactions must have at least one item'],
      [Array.from({ length: 101 }, () => one), 'transactions must have at most 100 items; it has 101'],
      [[one, tagged, tagged], 'transactions[2].external_id is x, which transactions[1] has already'],
    ] as const)
      assert.equal((await errorOf(sendTransactions(rig.deps, rig.relayer, wanted)))[2], sentence);
    assert.deepEqual(rig.events, []);
    await rig.close();
  });

  it('check: a list is refused as it would be if it were sent, and nothing is stored', async () => {
    const rig = await useCaseRig();
    const one = { request: evmRequest() };
    const tagged = { ...one, tags: { externalId: 'x', labels: [] } };
    const check = (wanted: readonly (typeof one)[]) =>
      checkTransactions(rig.deps, rig.relayer, wanted, { asker: { apiKeyId: 'key' }, isRefused: nothingRefused });
    for (const [wanted, sentence] of [
      [[], 'transactions must have at least one item'],
      [[one, tagged, tagged], 'transactions[2].external_id is x, which transactions[1] has already'],
    ] as const)
      assert.equal((await errorOf(check(wanted)))[2], sentence);
    rig.contexts.length = 0;
    await check([one, tagged]);
    assert.deepEqual(
      rig.contexts.map(({ earlier, nowMs: at }) => [earlier, at]),
      [
        [null, nowMs],
        [null, nowMs],
      ],
    );
    assert.deepEqual([rig.events, rig.told], [[], []]);
    await rig.close();
  });

  it('send together: a lost answer is told to the lane once', async () => {
    const rig = await useCaseRig();
    const error = new StoreAwayError('away');
    Object.assign(rig.deps, { store: { ...rig.store, commit: () => Promise.reject(error) } });
    await assert.rejects(sendTransactions(rig.deps, rig.relayer, [{ request: evmRequest() }, { request: evmRequest() }]), error);
    assert.deepEqual(rig.told, [`unanswered ${sampleLane.account}`]);
    await rig.close();
  });
});

describe('find', () => {
  it('find: by id and by nonce, only for the relayer that it belongs to', async () => {
    const rig = await useCaseRig();
    const attempt = anAttempt({ transactionId: 'a', nonce: 3n });
    await rig.add(signedOf('a', { nonce: 3n }), [attempt]);
    await rig.add(pendingOf('of another', { relayerId: 'r2' }));
    const { read } = rig.store;
    assert.equal((await findTransaction(read, 'r1', 'a')).shown?.hash, attempt.hash);
    assert.deepEqual((await findWithAttempts(read, 'r1', 'a')).attempts, [attempt]);
    assert.equal((await findByNonce(read, rig.relayer, 3n)).transaction.id, 'a');
    for (const [id, find] of [
      ['of another', () => findTransaction(read, 'r1', 'of another')],
      ['of another', () => findWithAttempts(read, 'r1', 'of another')],
      ['none', () => findTransaction(read, 'r1', 'none')],
      ['none', () => findWithAttempts(read, 'r1', 'none')],
    ] as const)
      assert.deepEqual(await errorOf(find()), [
        'not_found',
        'TRANSACTION_NOT_FOUND',
        `Transaction with ID ${id} not found`,
        { transaction_id: id },
      ]);
    assert.deepEqual(await errorOf(findByNonce(read, rig.relayer, 4n)), [
      'not_found',
      'TRANSACTION_NOT_FOUND',
      'Transaction with nonce 4 not found',
      { nonce: '4' },
    ]);
    const stellar = stellarRelayer('GA');
    assert.deepEqual(await errorOf(findByNonce(read, stellar, 3n)), [
      'unimplemented',
      'NOT_IMPLEMENTED',
      `relayer ${stellar.id} is on a stellar network, which has no nonces`,
      { relayer_id: stellar.id, network_type: 'stellar' },
    ]);
    await rig.close();
  });
});
