import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConflictError, StoreAwayError } from '../../../src/core/ports/store/change.js';
import { findByNonce, findTransaction, findWithAttempts } from '../../../src/core/transaction/find-transaction.js';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
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
    const origin = { requestId: 'request', traceParent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
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
      requireCapacity(lane: unknown) {
        assert.deepEqual(lane, sampleLane);
        throw full;
      },
    });
    await assert.rejects(sendTransaction(rig.deps, rig.relayer, evmRequest()), full);
    assert.equal(await rig.store.read.transaction('new'), undefined);
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
