import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createAccountFunds } from '../../../src/core/overview/account-funds.js';
import { modelRelayer } from '../../support/model-lane.js';

const [r1, r2] = [modelRelayer('r1', {}), modelRelayer('r2', {})];
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

function fundsAt(): { at(ms: number): void; readonly funds: ReturnType<typeof createAccountFunds> } {
  let nowMs = 0;
  return {
    at(ms) {
      nowMs = ms;
    },
    funds: createAccountFunds({ elapsedMs: () => nowMs }),
  };
}

it('funds: of an account that was not read, nothing is known', () => {
  assert.deepEqual(fundsAt().funds.of(r1), { balance: null, spentLastDay: null, lastsMs: null });
});

it('funds: only decreases count as spent, and a rate is known after ten minutes', () => {
  const { at, funds } = fundsAt();
  funds.take(r1, 1_000n);
  at(5 * minuteMs);
  funds.take(r1, 900n);
  assert.deepEqual(funds.of(r1), { balance: 900n, spentLastDay: null, lastsMs: null });
  at(10 * minuteMs);
  funds.take(r1, 2_000n);
  // 100 in ten minutes: 2,000 last 200 minutes.
  assert.deepEqual(funds.of(r1), { balance: 2_000n, spentLastDay: 100n, lastsMs: 200 * minuteMs });
});

it('funds: what was spent more than a day ago is forgotten', () => {
  const { at, funds } = fundsAt();
  funds.take(r1, 1_000n);
  at(hourMs / 2);
  funds.take(r1, 900n);
  at(23 * hourMs + hourMs / 2);
  funds.take(r1, 890n);
  assert.equal(funds.of(r1).spentLastDay, 110n);
  at(24 * hourMs);
  funds.take(r1, 890n);
  assert.deepEqual([funds.of(r1).spentLastDay, funds.of(r1).lastsMs], [10n, 89 * 23 * hourMs]);
  at(48 * hourMs);
  funds.take(r1, 890n);
  assert.deepEqual(funds.of(r1), { balance: 890n, spentLastDay: 0n, lastsMs: null });
});

it('funds: a balance that lasts for ever has a duration that a message can hold', () => {
  const { at, funds } = fundsAt();
  funds.take(r1, 10n ** 30n + 1n);
  at(hourMs);
  funds.take(r1, 10n ** 30n);
  assert.equal(funds.of(r1).lastsMs, 10 ** 13);
});

it('funds: accounts of deleted relayers are forgotten', () => {
  const { funds } = fundsAt();
  funds.take(r1, 1n);
  funds.take(r2, 1n);
  funds.keepOnly((id) => id === 'r2');
  assert.deepEqual([funds.of(r1).balance, funds.of(r2).balance], [null, 1n]);
});

it('funds: another account of a relayer with the same id begins anew, and the old one changes nothing', () => {
  const { at, funds } = fundsAt();
  const again = { ...r1, address: '0xother' };
  funds.take(r1, 1_000n);
  at(hourMs);
  funds.take(r1, 900n);
  assert.deepEqual(funds.of(again), { balance: null, spentLastDay: null, lastsMs: null });
  funds.take(again, 5n);
  assert.deepEqual(funds.of(again), { balance: 5n, spentLastDay: null, lastsMs: null });
  at(2 * hourMs);
  funds.take(again, 5n);
  assert.equal(funds.of(again).spentLastDay, 0n);
});
