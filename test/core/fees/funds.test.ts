import assert from 'node:assert/strict';
import { it } from 'node:test';
import { freeFunds, highestCost, mustRemain } from '../../../src/core/fees/funds.js';
import { highestSlotFee, maxCost } from '../../../src/core/fees/price.js';
import type { EvmPrice } from '../../../src/core/records/evm.js';
import { evmPolicies } from '../../support/evm.js';
import { anAttempt } from '../../support/stored-samples.js';

const policies = evmPolicies({ minBalanceWei: 40n });

it('funds: the minimum balance must remain, or what is locked if that is more', () => {
  assert.deepEqual([mustRemain(7n, policies), mustRemain(40n, policies), mustRemain(41n, policies)], [40n, 40n, 41n]);
});

it('funds: what is free is left beside what is reserved and what must remain', () => {
  const free = (locked: bigint, reserved: bigint) => freeFunds({ balance: 1_000n, locked }, reserved, policies);
  assert.deepEqual([free(7n, 300n), free(50n, 300n), free(7n, 0n), free(7n, 961n)], [660n, 650n, 960n, -1n]);
});

it('funds: of several attempts the most expensive one is reserved, and nothing without one', () => {
  const attemptAt = (version: number, maxFeePerGasWei: bigint) => {
    const attempt = anAttempt({ transactionId: 't', version });
    const price = { kind: 'eip1559', maxFeePerGasWei, maxPriorityFeePerGasWei: 1n } as const;
    return { ...attempt, fields: { ...attempt.fields, price } } as typeof attempt;
  };
  const attempts = [attemptAt(1, 5n), attemptAt(2, 9n), attemptAt(3, 7n)];
  assert.equal(highestCost({ attempts }), maxCost(attempts[1]?.fields ?? assert.fail()));
  assert.equal(highestCost({ attempts: [] }), 0n);
});

it('funds: a slot may cost its attempt, or the self-transfer that outbids it if that is more', () => {
  const legacy: EvmPrice = { kind: 'legacy', gasPriceWei: 100n };
  const eip1559: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 100n, maxPriorityFeePerGasWei: 3n };
  for (const price of [legacy, eip1559]) {
    assert.equal(highestSlotFee(50_000n, price, 23_100n), 5_000_000n);
    assert.equal(highestSlotFee(21_000n, price, 23_100n), 23_100n * 111n);
  }
});
