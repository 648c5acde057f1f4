import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DomainError } from '../../../src/core/errors/errors.js';
import { type Intent, isFinal, type MinedAt, type Transaction, type TransactionStatus } from '../../../src/core/records/transaction.js';
import {
  displaced,
  endedDead,
  endedUnsigned,
  failed,
  givenUp,
  heldReason,
  isObstacle,
  mined,
  notSignedYet,
  reorged,
  replacedInPlace,
  replacementQueued,
  requireInTime,
  requireRevision,
  requireWaiting,
  resolved,
  restored,
  signed,
  submitted,
  unheld,
  unresolvable,
  waiting,
} from '../../../src/core/transaction/lifecycle.js';
import { evmContent } from '../../support/evm.js';
import { runs } from '../../support/runs.js';
import { aTransaction } from '../../support/stored-samples.js';

const content = evmContent();
const foreignHash = `0x${'ef'.repeat(32)}`;
const firstVersion = { version: 1, purpose: 'content', nonce: 7n } as const;
const minedAt = (version: number, succeeded = true): MinedAt => ({ version, blockNumber: 9n, blockHash: '0x9', succeeded, facts: null });

/** A transaction and its attempts, as a lane holds them. */
interface State {
  readonly transaction: Transaction;
  readonly purposes: readonly Intent[];
}

/** Every move that the engine may make, and when. `given` supplies the choices of the move. */
const moves: Record<string, (state: State, given: { nowMs: number; pick: number; flag: boolean }) => State | null> = {
  'replace in place': ({ transaction, purposes }, { pick }) =>
    transaction.status === 'pending'
      ? {
          transaction: replacedInPlace(transaction, {
            content: evmContent({ valueWei: BigInt(pick) }),
            validUntilMs: pick % 2 === 0 ? null : pick,
            statusReason: notSignedYet,
            approval: null,
          }),
          purposes,
        }
      : null,
  'end unsigned': ({ transaction, purposes }, { pick }) =>
    transaction.status === 'pending'
      ? {
          transaction:
            pick % 3 === 0
              ? failed(transaction, 'would_revert', 'so it is')
              : endedUnsigned(transaction, pick % 3 === 1 ? 'canceled' : 'expired', 'so it is'),
          purposes,
        }
      : null,
  sign: ({ transaction, purposes }, { pick, flag }) => {
    if (isFinal(transaction.status) || transaction.mined !== null) return null;
    const given: Intent = (['content', 'cancel', 'expire', 'release_slot'] as const)[pick % 4] ?? 'content';
    const purpose = transaction.nonce === null ? 'content' : transaction.intent === 'content' ? given : transaction.intent;
    const wanted =
      flag && purpose === 'content' ? { content: evmContent({ valueWei: BigInt(pick) }), validUntilMs: pick, approval: null } : undefined;
    const attempt = { version: purposes.length + 1, purpose, nonce: transaction.nonce ?? BigInt(pick) };
    return { transaction: signed(transaction, attempt, wanted), purposes: [...purposes, purpose] };
  },
  submit: ({ transaction, purposes }, { nowMs }) =>
    transaction.nonce !== null && transaction.mined === null && !isFinal(transaction.status)
      ? { transaction: submitted(transaction, nowMs), purposes }
      : null,
  wait: ({ transaction, purposes }) => (isFinal(transaction.status) ? null : { transaction: waiting(transaction, 'it waits'), purposes }),
  mine: ({ transaction, purposes }, { nowMs, pick, flag }) =>
    transaction.nonce !== null && !isFinal(transaction.status)
      ? { transaction: mined(transaction, minedAt((pick % purposes.length) + 1, flag), nowMs), purposes }
      : null,
  'take back': ({ transaction, purposes }) => (transaction.status === 'mined' ? { transaction: reorged(transaction), purposes } : null),
  displace: ({ transaction, purposes }) =>
    transaction.nonce !== null && transaction.mined === null && !isFinal(transaction.status)
      ? { transaction: displaced(transaction, foreignHash), purposes }
      : null,
  'give up': ({ transaction, purposes }) =>
    transaction.nonce !== null && transaction.mined === null && !isFinal(transaction.status)
      ? { transaction: unresolvable(transaction), purposes }
      : null,
  resolve: ({ transaction, purposes }, { nowMs }) => {
    if (transaction.mined === null || isFinal(transaction.status)) return null;
    const purpose = purposes[transaction.mined.version - 1] ?? 'content';
    return { transaction: resolved(transaction, purpose, null, nowMs), purposes };
  },
};
const endings = ['resolve', 'displace', 'give up', 'end unsigned'];

describe('lifecycle under random moves of the engine', () => {
  const step = fc.record({
    move: fc.constantFrom(...Object.keys(moves)),
    nowMs: fc.integer({ min: 1, max: 1_000_000 }),
    pick: fc.nat({ max: 1_000 }),
    flag: fc.boolean(),
  });

  it('lifecycle: each move adds one revision and never contradicts an earlier record', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let state: State = { transaction: aTransaction({ id: 't', content, revision: 1, statusReason: notSignedYet }), purposes: [] };
        for (const { move, ...given } of steps) {
          const before = state.transaction;
          const after = moves[move]?.(state, given);
          if (after === null || after === undefined) continue;
          assert.ok(!isFinal(before.status), 'a final status is left');
          const now = after.transaction;
          assert.equal(now.revision, before.revision + 1);
          for (const name of ['id', 'relayerId', 'chain', 'account', 'createdAtMs'] as const) assert.equal(now[name], before[name], name);
          if (before.sentAtMs !== null) assert.equal(now.sentAtMs, before.sentAtMs, 'sent_at changed');
          if (before.intent !== 'content') assert.equal(now.intent, before.intent, 'the intent changed again');
          assert.equal(now.confirmedAtMs !== null, now.status === 'confirmed', 'confirmed_at is with confirmed only');
          assert.equal(now.failureReason !== null, now.status === 'failed', 'failure_reason is with failed only');
          if (!isFinal(now.status)) assert.match(now.statusReason ?? '', /./, `${move} leaves ${now.status} without a reason`);
          if (now.status === 'mined') assert.ok(now.mined !== null);
          if (now.status === 'pending') assert.deepEqual([now.nonce, now.liveVersion, now.mined], [null, null, null]);
          if (now.status === 'sent' || now.status === 'submitted') assert.ok(now.nonce !== null && now.liveVersion !== null);
          if (move === 'take back' || move === 'displace') assert.equal(now.mined, null);
          if (isFinal(now.status)) assert.ok(endings.includes(move), `${move} ends it`);
          if (move === 'end unsigned') assert.equal(before.nonce, null, 'what is signed ends unresolved');
          if (before.nonce !== null && now.nonce !== before.nonce) assert.equal(move, 'displace', `${move} takes its nonce away`);
          state = after;
        }
      }),
      { numRuns: runs(1_000) },
    );
  });
});

describe('how a transaction ends', () => {
  const sent = signed(aTransaction({ id: 't', content }), firstVersion);
  const over = (purpose: Intent) =>
    signed(purpose === 'release_slot' ? { ...sent, statusReason: 'insufficient balance' } : sent, { version: 2, purpose, nonce: 7n });
  const cases: readonly (readonly [mined: Intent, succeeded: boolean, status: string, reason: RegExp | null])[] = [
    ['content', true, 'confirmed', null],
    ['content', false, 'failed', /failed on chain/],
    ['cancel', true, 'canceled', /^canceled: replaced by a self-transfer at nonce 7$/],
    ['expire', true, 'expired', /^valid_until passed: replaced by a self-transfer at nonce 7$/],
    ['release_slot', true, 'failed', /^insufficient balance; replaced by a self-transfer at nonce 7 to unblock later transactions$/],
  ];

  it('end: the purpose of the mined attempt decides the final status', () => {
    for (const [purpose, succeeded, status, reason] of cases) {
      const transaction = purpose === 'content' ? sent : over(purpose);
      const ended = resolved(mined(transaction, minedAt(transaction.liveVersion ?? 0, succeeded), 5), purpose, null, 6);
      assert.equal(ended.status, status);
      assert.equal(ended.failureReason, status !== 'failed' ? null : purpose === 'content' ? 'reverted' : 'never_accepted');
      if (reason === null) assert.equal(ended.statusReason, null);
      else assert.match(ended.statusReason ?? '', reason);
    }
  });

  it('end: confirmed if the original attempt wins over its cancel, and the reason says so', () => {
    const ended = resolved(mined(over('cancel'), minedAt(1), 5), 'content', null, 6);
    assert.deepEqual([ended.status, ended.confirmedAtMs], ['confirmed', 6]);
    assert.match(ended.statusReason ?? '', /attempt 1 was mined instead of the newest, attempt 2/);
  });

  it('end: a released slot fails with the obstacle, also after a reorg', () => {
    const why = 'no RPC node accepted it: the node answered txFAILED';
    const released = signed({ ...sent, statusReason: why }, { version: 2, purpose: 'release_slot', nonce: 7n });
    const again = reorged(mined(released, minedAt(2), 5));
    const ended = resolved(mined(again, minedAt(2), 6), 'release_slot', null, 7);
    const expected = `${why}; replaced by a self-transfer at nonce 7 to unblock later transactions`;
    assert.deepEqual([again.statusReason, ended.statusReason], [expected, expected]);
  });

  it('end: states why it failed if that is known', () => {
    const ended = resolved(mined(sent, minedAt(1, false), 5), 'content', 'reverted on chain: no', 6);
    assert.equal(ended.statusReason, 'reverted on chain: no');
  });

  it('end: after a foreign transaction in its slot, content gets another nonce and a given-up transaction ends', () => {
    const again = displaced(sent, foreignHash);
    assert.deepEqual([again.status, again.nonce, again.liveVersion, again.intent], ['pending', null, null, 'content']);
    assert.match(again.statusReason ?? '', new RegExp(`nonce 7 was used by the foreign transaction ${foreignHash}`));
    assert.deepEqual(
      (['cancel', 'expire', 'release_slot'] as const)
        .map((purpose) => displaced(over(purpose), foreignHash))
        .map(({ status, failureReason }) => [status, failureReason]),
      [
        ['canceled', null],
        ['expired', null],
        ['failed', 'displaced'],
      ],
    );
  });

  it('end: a transaction that is not mined cannot be resolved', () => {
    assert.throws(() => resolved(sent, 'content', null, 6), /mined/);
  });
});

const cases: readonly (readonly [TransactionStatus, Intent, reason: string | null])[] = [
  ['pending', 'content', null],
  ['sent', 'content', null],
  ['submitted', 'content', null],
  ['sent', 'cancel', 'TRANSACTION_CANCELED'],
  ['submitted', 'cancel', 'TRANSACTION_CANCELED'],
  ['submitted', 'expire', 'TRANSACTION_EXPIRED'],
  ['submitted', 'release_slot', 'TRANSACTION_FAILED'],
  ['mined', 'content', 'TRANSACTION_MINED'],
  ['mined', 'cancel', 'TRANSACTION_MINED'],
  ['confirmed', 'content', 'TRANSACTION_CONFIRMED'],
  ['confirmed', 'cancel', 'TRANSACTION_CONFIRMED'],
  ['failed', 'content', 'TRANSACTION_FAILED'],
  ['expired', 'expire', 'TRANSACTION_EXPIRED'],
  ['canceled', 'cancel', 'TRANSACTION_CANCELED'],
];

describe('replace and cancel', () => {
  for (const [status, intent, reason] of cases) {
    it(`replace and cancel: ${reason === null ? 'accepted' : `rejected with ${reason}`} for status ${status} with intent ${intent}`, () => {
      for (const verb of ['replaced', 'canceled'] as const) {
        const ask = () => requireWaiting(aTransaction({ id: 't', status, intent }), verb);
        if (reason === null) assert.doesNotThrow(ask);
        else
          assert.throws(ask, (error) => {
            assert.ok(error instanceof DomainError);
            assert.deepEqual([error.kind, error.reason], ['precondition', reason]);
            assert.match(error.message, new RegExp(`so it can no longer be ${verb}$`));
            return true;
          });
      }
    });
  }
});

describe('a status reason', () => {
  it('names an obstacle if the transaction does not only wait for its signature, an RPC node or a block', () => {
    const pending = aTransaction({ id: 'a', statusReason: notSignedYet });
    const sent = signed(pending, firstVersion);
    const inBlock = mined(submitted(sent, 1), minedAt(1), 2);
    const usual = [pending, sent, submitted(sent, 1), inBlock].map(({ statusReason }) => statusReason);
    assert.deepEqual([...usual, null, 'canceled before it was signed'].filter(isObstacle), []);
    assert.ok(isObstacle(`${notSignedYet}: insufficient balance`));
    assert.ok(isObstacle('waiting: base fee 41 gwei is above gas_price_cap 30 gwei; will send when it falls'));
  });
});

describe('a hold of signing', () => {
  it('is in the status reason of every transaction, and after it each says again what it waits for', () => {
    const pending = aTransaction({ id: 'a', content: evmContent(), statusReason: notSignedYet });
    const sent = signed(pending, firstVersion);
    const canceled = signed(sent, { version: 2, purpose: 'cancel', nonce: 7n });
    const signedOnes = [sent, submitted(sent, 1), canceled, mined(sent, minedAt(1), 2), mined(canceled, minedAt(1), 2)];
    for (const before of signedOnes) {
      const held = waiting(before, heldReason(before, 'the database lacks commits'));
      assert.equal(held.statusReason, 'waiting: nothing is signed or broadcast now: the database lacks commits');
      assert.equal(unheld(held)?.statusReason, before.statusReason);
      assert.equal(unheld(before), null);
    }
    assert.equal(heldReason(pending, 'the database lacks commits'), `${notSignedYet}: the database lacks commits`);
  });
});

describe('what a record says at each step', () => {
  const told = (transaction: Transaction) => [transaction.status, transaction.intent, transaction.failureReason, transaction.statusReason];
  const sent = signed(aTransaction({ id: 't', content }), firstVersion);
  const unsequenced = signed(aTransaction({ id: 't', content }), { version: 1, purpose: 'content', nonce: null });
  const queued = evmContent({ valueWei: 9n });
  const over = (purpose: Intent) => signed({ ...sent, statusReason: 'insufficient balance' }, { version: 2, purpose, nonce: 7n });
  const slot = 'replaced by a self-transfer at nonce 7';

  it('step: from a signature to a block', () => {
    assert.deepEqual(told(sent), ['sent', 'content', null, 'waiting: signed; no RPC node has accepted it yet']);
    assert.deepEqual(told(submitted(sent, 5)), ['submitted', 'content', null, 'waiting: an RPC node has accepted it; not mined yet']);
    const replaced = signed(submitted(sent, 5), { version: 2, purpose: 'content', nonce: 7n });
    // The event of a replacement is the last one until a block has it, so it must stay true once a node has accepted it.
    assert.deepEqual(told(replaced), ['submitted', 'content', null, 'waiting: signed and being broadcast; not mined yet']);
    assert.deepEqual(told(signed(sent, { version: 2, purpose: 'content', nonce: 7n }))[3], told(sent)[3]);
    assert.ok(!isObstacle(replaced.statusReason));
    assert.equal(submitted(submitted(sent, 5), 6).sentAtMs, 5);
    assert.equal(submitted({ ...sent, status: 'mined' }, 5).status, 'mined');
    assert.deepEqual(told(over('cancel')), ['sent', 'cancel', null, `being canceled: ${slot}; waiting for that to be mined`]);
    assert.deepEqual(told(over('expire')), ['sent', 'expire', null, `valid_until has passed: ${slot}; waiting for that to be mined`]);
    assert.deepEqual(told(submitted(over('expire'), 5))[3], `valid_until has passed: ${slot}; waiting for that to be mined`);
    const released = `insufficient balance; ${slot} to unblock later transactions`;
    assert.deepEqual(told(over('release_slot')), ['sent', 'release_slot', null, released]);
    assert.equal(signed(over('release_slot'), { version: 3, purpose: 'release_slot', nonce: 7n }).statusReason, released);
    assert.equal(
      signed({ ...sent, statusReason: null }, { version: 2, purpose: 'release_slot', nonce: 8n }).statusReason,
      'insufficient balance; replaced by a self-transfer at nonce 8 to unblock later transactions',
    );
    assert.deepEqual(told(mined(sent, minedAt(1), 5)), [
      'mined',
      'content',
      null,
      'waiting: mined; not final until it has the required confirmations',
    ]);
  });

  it('step: without a number of the account, what is given up or queued is told until its attempts are dead', () => {
    const untilDead = 'it is not rebroadcast, but may still be mined until its attempts expire';
    const canceled = givenUp({ ...unsequenced, queued }, 'cancel');
    assert.deepEqual([told(canceled), canceled.queued], [['sent', 'cancel', null, `being canceled: ${untilDead}`], null]);
    assert.deepEqual(told(givenUp(unsequenced, 'expire')), ['sent', 'expire', null, `valid_until has passed: ${untilDead}`]);
    const waits = replacementQueued(unsequenced, queued, 9);
    const why = 'waiting: the replacement is queued; will send when the earlier attempts can no longer be mined';
    assert.deepEqual([told(waits), waits.queued, waits.validUntilMs], [['sent', 'content', null, why], queued, 9]);
    assert.equal(submitted(waits, 5).statusReason, why);
    assert.equal(submitted(canceled, 5).statusReason, `being canceled: ${untilDead}`);
    assert.equal(submitted(unsequenced, 5).statusReason, 'waiting: an RPC node has accepted it; not mined yet');
    assert.equal(mined(waits, minedAt(1), 5).statusReason, 'mined before its queued replacement could be sent');
    assert.equal(mined(canceled, minedAt(1), 5).statusReason, 'mined before the cancel took effect');
    assert.equal(mined(givenUp(unsequenced, 'expire'), minedAt(1), 5).statusReason, 'mined although valid_until has passed');
    assert.equal(reorged(mined(canceled, minedAt(1), 5)).statusReason, `being canceled: ${untilDead}`);
    const dead = 'its attempts can no longer be mined';
    assert.deepEqual(told(endedDead(canceled)), ['canceled', 'cancel', null, `canceled: ${dead}`]);
    assert.deepEqual(told(endedDead(givenUp(unsequenced, 'expire'))), ['expired', 'expire', null, `valid_until passed: ${dead}`]);
  });

  it('step: after a restore nothing is signed again', () => {
    const why = 'restored from a backup: a later attempt may have been sent since, so it is not signed again';
    const again = restored({ ...unsequenced, queued });
    assert.deepEqual([told(again), again.queued], [['sent', 'release_slot', 'unresolvable', why], null]);
    assert.deepEqual(told(submitted(again, 5))[3], why);
    assert.equal(reorged(mined(again, minedAt(1), 5)).statusReason, why);
    assert.deepEqual(told(endedDead(again)), [
      'failed',
      'release_slot',
      'unresolvable',
      `${why}; check the account's history before you resend`,
    ]);
    const inSlot = restored(sent);
    const slotWhy = 'restored from a backup: it fails if a transaction that the backup lacks used its nonce';
    assert.deepEqual(told(inSlot), ['sent', 'content', 'displaced', slotWhy]);
    for (const transaction of [sent, unsequenced]) {
      const inBlock = mined(transaction, minedAt(1), 5);
      assert.equal(restored(inBlock).statusReason, inBlock.statusReason, 'what is mined says so');
    }
    const taken = `nonce 7 was used by the foreign transaction ${foreignHash}`;
    assert.deepEqual(told(displaced(inSlot, foreignHash)), [
      'failed',
      'content',
      'displaced',
      `${taken}, which may be an attempt that the restored backup lacks; check it before you resend`,
    ]);
    for (const purpose of ['cancel', 'expire'] as const) {
      const end = displaced(signed(inSlot, { version: 2, purpose, nonce: 7n }), foreignHash);
      assert.deepEqual([end.status, end.failureReason], ['failed', 'displaced'], `${purpose}: it may have been paid before`);
    }
  });

  it('step: a reorg, another use of the slot and an unknown outcome', () => {
    assert.deepEqual(told(reorged(mined(sent, minedAt(1), 5))), [
      'submitted',
      'content',
      null,
      'waiting: a reorg removed its block; rebroadcasting it',
    ]);
    const otherWon = mined(over('release_slot'), minedAt(1), 5);
    assert.equal(otherWon.statusReason, 'attempt 1 was mined instead of the newest, attempt 2');
    assert.equal(reorged(otherWon).statusReason, 'it could not be sent');
    const taken = `nonce 7 was used by the foreign transaction ${foreignHash}`;
    assert.deepEqual(told(displaced(sent, foreignHash))[3], `waiting: ${taken}; will send with another nonce`);
    assert.equal(displaced(over('cancel'), foreignHash).statusReason, `canceled: ${taken}`);
    assert.equal(displaced(over('expire'), foreignHash).statusReason, `valid_until passed: ${taken}`);
    assert.equal(displaced({ ...over('release_slot'), statusReason: null }, foreignHash).statusReason, `it could not be sent; ${taken}`);
    const check = "check the account's history before you send it again";
    assert.deepEqual(told(unresolvable(sent)), [
      'failed',
      'content',
      'unresolvable',
      `outcome unknown: no RPC node has the transaction that used nonce 7; ${check}`,
    ]);
    assert.equal(
      unresolvable(unsequenced).statusReason,
      `outcome unknown: the RPC nodes no longer have the blocks that might contain it; ${check}`,
    );
  });

  it('step: a released slot keeps the reason for which it was released', () => {
    const end = (over_: Partial<Transaction>) =>
      resolved(mined({ ...over('release_slot'), ...over_ }, minedAt(2), 5), 'release_slot', null, 6);
    assert.equal(end({ failureReason: 'fee_limit' }).failureReason, 'fee_limit');
    assert.equal(
      resolved({ ...mined(over('release_slot'), minedAt(2), 5), statusReason: null }, 'release_slot', null, 6).statusReason,
      `it could not be sent; ${slot}`,
    );
    assert.equal(resolved(mined(over('release_slot'), minedAt(1, false), 5), 'content', null, 6).failureReason, 'reverted');
    assert.equal(resolved({ ...mined(sent, minedAt(1), 5), queued }, 'content', null, 6).queued, null);
  });
});

describe('the limits of a change', () => {
  const nowMs = 1_763_600_000_000;

  it('in time: a passed valid_until needs a new one', () => {
    const transaction = (validUntilMs: number | null) => aTransaction({ id: 't', validUntilMs });
    requireInTime(transaction(null), null, nowMs);
    requireInTime(transaction(nowMs + 1), null, nowMs);
    requireInTime(transaction(nowMs), nowMs + 9, nowMs);
    assert.throws(() => requireInTime(transaction(nowMs), null, nowMs), {
      reason: 'TRANSACTION_EXPIRED',
      metadata: { transaction_id: 't' },
    });
  });

  it('revision: null is any, and another one is refused with the present one', () => {
    const transaction = aTransaction({ id: 't', revision: 3 });
    requireRevision(transaction, null);
    requireRevision(transaction, 3n);
    assert.throws(() => requireRevision(transaction, 2n), {
      kind: 'stale',
      reason: 'REVISION_MISMATCH',
      message: 'the transaction has revision 3, not 2; read it again',
      metadata: { transaction_id: 't', revision: '3' },
    });
  });

  it('state: each has its word', () => {
    const words = cases.flatMap(([status, intent, reason]) => {
      if (reason === null) return [];
      try {
        requireWaiting(aTransaction({ id: 't', status, intent }), 'canceled');
      } catch (error) {
        assert.deepEqual((error as DomainError).metadata, { transaction_id: 't' });
        return [(error as DomainError).message.replace('the transaction ', '').replace(', so it can no longer be canceled', '')];
      }
      return ['accepted'];
    });
    assert.deepEqual(words, [
      'is being canceled',
      'is being canceled',
      'is expiring',
      'is failing',
      'is mined',
      'is mined',
      'is confirmed',
      'is confirmed',
      'failed',
      'expired',
      'is canceled',
    ]);
  });
});
