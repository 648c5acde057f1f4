import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { delayLimits } from '../../../src/config/setting-parsers.js';
import { changed } from '../../../src/core/records/transaction.js';
import { delayReported, isNewlyDelayed, obstacleKind } from '../../../src/core/transaction/delays.js';
import { aTransaction } from '../../support/stored-samples.js';

const limits = { fastest: 10, fast: 20, average: 30, safeLow: 40 };

describe('delays', () => {
  it('delays: a text about the same obstacle has the same kind, whatever its numbers, hashes, ids and times are', () => {
    const same = [
      ['waiting: base fee 41 gwei is above gas_price_cap 30 gwei', 'waiting: base fee 2.5 gwei is above gas_price_cap 1,000 gwei'],
      [
        'waiting: identical to transaction 019a9f3c-52d1-7c0e-9d3b-2f6a1c8e4b70',
        'waiting: identical to transaction 01936f0a-52d1-7c0e-9d3b-2f6a1c8e4bff',
      ],
      ['waiting: nonce 7 was used by 0xabcdef', 'waiting: nonce 81 was used by 0x123456'],
      ['waiting: no new block since 2026-01-02T03:04:05.678Z', 'waiting: no new block since 2026-11-12T13:14:15.000Z'],
    ] as const;
    for (const [one, other] of same) assert.equal(obstacleKind(one), obstacleKind(other));
    assert.notEqual(obstacleKind('waiting: queued for signing'), obstacleKind('waiting: insufficient balance'));
    assert.ok(obstacleKind('x'.repeat(10_000)).length < 200);
  });

  it('delays: the wait of each speed ends at its limit; a mined, a final and a reported one is not reported', () => {
    const waits = aTransaction({ id: 't', createdAtMs: 1_000, statusReason: 'waiting: 1', status: 'pending' });
    for (const [speed, limit] of Object.entries(limits) as [keyof typeof limits, number][]) {
      assert.equal(isNewlyDelayed({ ...waits, speed }, limits, 999 + limit), false, speed);
      assert.equal(isNewlyDelayed({ ...waits, speed }, limits, 1_000 + limit), true, speed);
    }
    const isLate = (over: Parameters<typeof changed>[1]) => isNewlyDelayed({ ...changed(waits, over), speed: 'fast' }, limits, 9_999);
    assert.equal(isLate({ status: 'canceled' }), false);
    assert.equal(isLate({ mined: { version: 1, blockNumber: 1n, blockHash: '0x', succeeded: true, facts: null } }), false);
    const reported = delayReported(waits, 2_000);
    assert.deepEqual([reported.revision, reported.delays], [waits.revision + 1, { kinds: ['waiting: #'], lastAtMs: 2_000 }]);
    assert.deepEqual(delayReported({ ...waits, statusReason: null }, 2_000).delays, { kinds: [''], lastAtMs: 2_000 });
    const twice = delayReported(changed(reported, { statusReason: 'waiting: funds' }), 3_000);
    assert.deepEqual(twice.delays, { kinds: ['waiting: #', 'waiting: funds'], lastAtMs: 3_000 });
    assert.equal(isLate(reported), false);
    assert.equal(isLate({ ...reported, statusReason: 'waiting: 2' }), false);
    assert.equal(isLate({ ...reported, statusReason: 'waiting: funds' }), true);
  });

  it('delays: a transaction whose obstacle always has other words is reported a few times at most', () => {
    let transaction = aTransaction({ id: 't', createdAtMs: 0, status: 'pending' });
    let reports = 0;
    for (let word = 'a'; word.length < 100; word += 'a') {
      transaction = changed(transaction, { statusReason: word });
      if (!isNewlyDelayed({ ...transaction, speed: 'fast' }, limits, 9_999)) continue;
      transaction = delayReported(transaction, 9_999);
      reports += 1;
    }
    assert.equal(reports, 8);
  });

  it('delays: the setting takes some speeds, or off, and names what is wrong', () => {
    assert.deepEqual(delayLimits('fastest=60,fast=120,average=240,safeLow=600'), {
      value: { fastest: 60_000, fast: 120_000, average: 240_000, safeLow: 600_000 },
    });
    assert.deepEqual(delayLimits('fast=1, safeLow=7'), { value: { fastest: 60_000, fast: 1_000, average: 240_000, safeLow: 7_000 } });
    assert.deepEqual(delayLimits('off'), { value: null });
    for (const [text, problem] of [
      ['120', 'cannot parse "120"'],
      ['fast=', 'cannot parse "fast="'],
      ['fast=-1', 'cannot parse "fast=-1"'],
      ['fast=1.5', 'cannot parse "fast=1.5"'],
      ['slow=5', 'has the unknown speed "slow"'],
      ['toString=5', 'has the unknown speed "toString"'],
      ['fast=5,fast=6', 'has the speed "fast" twice'],
      ['fast=0', 'seconds of fast must be from 1 to'],
      ['fast=999999', 'seconds of fast must be from 1 to'],
    ] as const) {
      const parsed = delayLimits(text);
      assert.ok('problem' in parsed && parsed.problem.startsWith(problem), `${text}: ${JSON.stringify(parsed)}`);
    }
  });
});
