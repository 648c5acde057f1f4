import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { maxCostPerGasWei } from '../../../src/core/fees/price.js';
import type { BroadcastOutcome } from '../../../src/core/ports/chain/outcomes.js';
import { replaceTransaction } from '../../../src/core/transaction/replace-transaction.js';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { evmFieldsOf, wanted } from '../../support/evm.js';
import { startLaneRig } from '../../support/lane-rig.js';
import { type ModelTransaction, puzzlingData, refusedData } from '../../support/model-chain.js';
import { modelRelayer } from '../../support/model-lane.js';
import { waitFor } from '../../support/wait-for.js';

const refusedWith = (because: 'content' | 'cost' | 'words' | 'words_of_all'): BroadcastOutcome => ({
  kind: because === 'words' || because === 'words_of_all' ? 'unknown' : 'wait',
  sentence: 'the node answered "no"',
  because,
});

describe('attempts that nodes refuse', () => {
  it('while nodes refuse the newest attempt, the newest earlier one that they accepted is sent again, also after a restart', async (test) => {
    const rig = await startLaneRig(test);
    const id = await rig.send();
    const [first] = await rig.attempts(id);
    // The market rises, and the node accepts nothing above the first bid.
    const limitWei = maxCostPerGasWei(evmFieldsOf(first).price);
    rig.chain.setRefusal(({ price }) => (maxCostPerGasWei(price) > limitWei ? refusedWith('words') : null));
    rig.chain.setBaseFee(205n);
    await rig.pass(10);
    const raised = await rig.attempts(id);
    assert.ok(raised.length > 1);
    for (const step of ['pool loss', 'restart'] as const) {
      rig.chain.forget(() => false);
      if (step === 'restart') await rig.restart();
      for (let looks = 0; looks < 6; looks += 1) await rig.pass(1);
      assert.equal(rig.chain.pool.get(0n)?.hash, first?.hash, step);
    }
    assert.match(
      (await rig.transaction(id)).statusReason ?? '',
      /^waiting: attempt 1 stays live, since no RPC node has accepted the newest one/,
    );
    rig.chain.setBaseFee(100n);
    await rig.pass(4, 9);
    assert.equal((await rig.transaction(id)).status, 'confirmed');
  });

  it('replaced content is never sent again, even if nodes refuse the new content', async (test) => {
    const rig = await startLaneRig(test);
    const id = await rig.send({ valueWei: 1n });
    const [first] = await rig.attempts(id);
    await Promise.all([
      replaceTransaction(rig.lane().deps, modelRelayer('r1', { requiredConfirmations: 3 }), id, wanted({ valueWei: 2n })),
      rig.see(),
    ]);
    const replaced = await rig.attempts(id);
    assert.equal(replaced.length, 2);
    rig.chain.setRefusal(() => refusedWith('words'));
    rig.chain.forget(() => false);
    const offers = rig.chain.offers.get(first?.hash ?? '');
    await rig.pass(12);
    assert.equal(rig.chain.offers.get(first?.hash ?? ''), offers);
  });

  it('an attempt that nodes refuse for its cost is signed at the lowest price that the next block takes, and not raised', async (test) => {
    const rig = await startLaneRig(test);
    rig.chain.setRefusal(({ price }: ModelTransaction) => (maxCostPerGasWei(price) > 150n ? refusedWith('cost') : null));
    const id = await rig.send();
    assert.equal(maxCostPerGasWei(evmFieldsOf((await rig.attempts(id))[0]).price), 210n);
    await rig.pass(3);
    const attempts = await rig.attempts(id);
    assert.deepEqual(
      attempts.map((attempt) => maxCostPerGasWei(evmFieldsOf(attempt).price)),
      [210n, 110n],
    );
    assert.equal(rig.chain.pool.size, 1);
    await rig.pass(4, 9);
    assert.equal((await rig.transaction(id)).status, 'confirmed');
  });

  it('an attempt that nodes refuse for its cost is not signed again at every block while the market falls, and is released in the end', async (test) => {
    const rig = await startLaneRig(test);
    rig.chain.setRefusal(({ valueWei }: ModelTransaction) => (valueWei === 7n ? refusedWith('cost') : null));
    rig.chain.setBaseFee(10n ** 9n);
    const id = await rig.send({ valueWei: 7n });
    for (let block = 0, baseFeeWei = 10n ** 9n; block < 70; block += 1) {
      baseFeeWei = (baseFeeWei * 7n) / 8n;
      rig.chain.setBaseFee(baseFeeWei);
      await rig.pass(1, 9);
    }
    assert.equal((await rig.transaction(id)).status, 'failed');
    const attempts = await rig.attempts(id);
    assert.ok(attempts.length <= 8, `${attempts.length} attempts`);
  });

  for (const because of ['content', 'cost', 'words', 'words_of_all'] as const) {
    it(`a slot whose attempt every node refuses for good (${because}) is released, and later transactions are broadcast`, async (test) => {
      const rig = await startLaneRig(test);
      rig.chain.setRefusal(({ valueWei }: ModelTransaction) => (valueWei === 7n ? refusedWith(because) : null));
      const stuck = await rig.send({ valueWei: 7n });
      const next = await rig.send({ valueWei: 1n });
      await rig.pass(70, 9, 12_000);
      assert.equal((await rig.transaction(next)).status, 'confirmed');
      const { status, statusReason } = await rig.transaction(stuck);
      assert.equal(status, 'failed');
      assert.match(statusReason ?? '', /^no RPC node accepted it: the node answered "no"/);
      assert.ok((await rig.attempts(stuck)).length <= 3);
    });
  }

  it('unknown words of every node free a slot within about a minute if others wait', async (test) => {
    const rig = await startLaneRig(test);
    rig.chain.setRefusal(({ valueWei }: ModelTransaction) => (valueWei === 7n ? refusedWith('words_of_all') : null));
    const stuck = await rig.send({ valueWei: 7n });
    const next = await rig.send({ valueWei: 1n });
    await rig.pass(12, 9, 12_000);
    assert.equal((await rig.transaction(stuck)).status, 'failed');
    assert.equal((await rig.transaction(next)).status, 'confirmed');
  });

  it('a slot whose content bids the price cap is freed, also if no node takes the first self-transfer', async (test) => {
    const rig = await startLaneRig(test, { policies: { gasPriceCapWei: 200n } });
    const fillers = new Set<string>();
    rig.chain.setRefusal(({ hash, valueWei }: ModelTransaction) => {
      if (valueWei === 0n) fillers.add(hash);
      return valueWei === 7n || (valueWei === 0n && fillers.size < 2) ? refusedWith('content') : null;
    });
    const stuck = await rig.send({ valueWei: 7n });
    const next = await rig.send({ valueWei: 1n });
    await rig.pass(120, 9, 12_000);
    assert.equal((await rig.transaction(stuck)).status, 'failed');
    assert.equal((await rig.transaction(next)).status, 'confirmed');
    assert.deepEqual(
      (await rig.attempts(stuck)).map((attempt) => maxCostPerGasWei(evmFieldsOf(attempt).price)),
      [200n, 221n, 221n],
    );
  });

  it('a transaction that nodes answer with a hash and do not pool is rebroadcast ever less often, is not raised, and its record says so', async (test) => {
    const rig = await startLaneRig(test);
    rig.chain.setPooling(false);
    const id = await rig.send();
    await rig.pass(40);
    const attempts = await rig.attempts(id);
    assert.equal(attempts.length, 1);
    const offers = rig.chain.offers.get(attempts[0]?.hash ?? '') ?? 0;
    assert.ok(offers >= 3 && offers <= 8, `${offers} broadcasts`);
    const { statusReason, revision } = await rig.transaction(id);
    assert.match(statusReason ?? '', /answers with a hash, but does not have the transaction in its pool/);
    assert.ok(revision < 8, `${revision} revisions`);
    rig.chain.setPooling(true);
    await rig.pass(40, 9);
    assert.equal((await rig.transaction(id)).status, 'confirmed');
  });
});

describe('a slot whose attempt no node takes', () => {
  const words: readonly BroadcastOutcome[] = [
    { kind: 'wait', sentence: 'txpool is full', lacks: 'capacity' },
    { kind: 'wait', sentence: 'nonce too high', lacks: 'capacity' },
    { kind: 'wait', sentence: 'plugin has marked the transaction as invalid' },
    { kind: 'underpriced', sentence: 'replacement transaction underpriced' },
    { kind: 'nonce_used' },
  ];
  for (const outcome of words)
    it(`a slot whose attempt no node takes: is released after 20 heads and ten minutes, in any words: ${JSON.stringify(outcome)}`, async (test) => {
      const rig = await startLaneRig(test);
      rig.chain.setRefusal(({ valueWei }) => (valueWei === 77n ? outcome : null));
      const id = await rig.send({ valueWei: 77n });
      const behind = await rig.send({ valueWei: 2n });
      await rig.pass(15);
      assert.notEqual((await rig.transaction(id)).intent, 'release_slot');
      await rig.pass(160, 9);
      assert.equal((await rig.transaction(id)).failureReason, 'never_accepted');
      assert.equal((await rig.transaction(behind)).status, 'confirmed');
    });
});

describe('a slot whose attempt a pool shows for ever', () => {
  for (const isPayable of [false, true])
    it(`a slot whose attempt a pool shows for ever: is released only if the account cannot pay for it: ${isPayable}`, async (test) => {
      const rig = await startLaneRig(test);
      const id = await rig.send({ valueWei: 10n ** 12n });
      const behind = await rig.send({ valueWei: 2n });
      // The pool has it back after a reorg.
      rig.chain.mine(1);
      if (!isPayable) rig.chain.setFunds(10n ** 10n);
      rig.chain.takeBack(1, () => true);
      await rig.pass(4);
      assert.equal((await rig.transaction(id)).intent, 'content');
      await rig.pass(12);
      assert.equal((await rig.transaction(id)).intent, isPayable ? 'content' : 'release_slot');
      await rig.pass(20, 9);
      const { status, failureReason } = await rig.transaction(id);
      assert.deepEqual([status, failureReason], isPayable ? ['confirmed', null] : ['failed', 'insufficient_funds']);
      assert.equal((await rig.transaction(behind)).status, 'confirmed');
    });
});

describe('transactions that nodes reject in unknown words', () => {
  it('transactions that nodes reject in unknown words: show the words, and fail when the nodes have repeated them at several heads', async (test) => {
    const rig = await startLaneRig(test);
    const id = await rig.send({ data: puzzlingData });
    await rig.pass(4);
    const { status, statusReason } = await rig.transaction(id);
    assert.deepEqual([status, statusReason], ['pending', 'waiting: the RPC node answered "no"; retrying']);
    await rig.pass(3);
    const after = await rig.transaction(id);
    assert.deepEqual([after.status, after.statusReason], ['failed', 'no RPC node accepts it: the RPC node answered "no"']);
    assert.equal((await rig.attempts(id)).length, 0);
  });
});

describe('a transaction that nodes are slow to estimate', () => {
  it('a transaction that nodes are slow to estimate: delays no other one, and is broadcast when they have answered', async (test) => {
    const rig = await startLaneRig(test);
    await rig.see();
    const { deps } = rig.lane();
    const slow = (await sendTransaction(deps, modelRelayer('r1', { requiredConfirmations: 3 }), wanted({ valueWei: 1n }))).transaction.id;
    await rig.lane().rest();
    const [held] = rig.chain.travelling;
    assert.equal(held?.name, 'draft');
    const next = (await sendTransaction(deps, modelRelayer('r1', { requiredConfirmations: 3 }), wanted({ valueWei: 2n }))).transaction.id;
    await waitFor('the next one to be submitted', async () => {
      for (const one of [...rig.chain.travelling]) if (one !== held) one.letGo('answered');
      return (await rig.transaction(next)).status === 'submitted' ? true : undefined;
    });
    assert.equal((await rig.transaction(slow)).status, 'pending');
    held?.letGo('answered');
    await rig.pass(5, 9);
    assert.deepEqual([(await rig.transaction(slow)).status, (await rig.attempts(slow)).length], ['confirmed', 1]);
  });
});

describe('an account that cannot pay', () => {
  it('an account that cannot pay: drafts each waiting transaction once per head, and sends all of them when it is funded', async (test) => {
    const rig = await startLaneRig(test, { policies: { maxInFlight: 50 } });
    rig.chain.setFunds(0n);
    const ids: string[] = [];
    for (let count = 0; count < 20; count += 1) ids.push(await rig.send());
    await rig.pass(1);
    const before = rig.asked('draft');
    for (let looks = 0; looks < 4; looks += 1) await rig.see(600);
    assert.equal(rig.asked('draft') - before, 0);
    await rig.pass(1);
    assert.equal(rig.asked('draft') - before, 20);
    rig.chain.setFunds(10n ** 18n);
    await rig.pass(5, 20);
    for (const id of ids) assert.equal((await rig.transaction(id)).status, 'confirmed');
  });
});

describe('a clock that is set back', () => {
  it('a clock that is set back: delays neither broadcasts nor fee bumps', async (test) => {
    const rig = await startLaneRig(test);
    rig.chain.setRefusal(() => refusedWith('words'));
    const id = await rig.send();
    rig.setBack(3_600_000);
    rig.chain.setRefusal(null);
    await rig.pass(2);
    assert.equal(rig.chain.pool.size, 1);
    rig.chain.setBaseFee(205n);
    await rig.pass(10);
    assert.equal((await rig.attempts(id)).length, 2);
  });
});

describe('nodes that do not show what is in their pools', () => {
  it('hidden pools: what they have is not sent again at each head while the lane advances, and what they lost is', async (test) => {
    const rig = await startLaneRig(test, { policies: { maxInFlight: 40 } });
    rig.chain.setHidden(true);
    const ids: string[] = [];
    for (let count = 0; count < 40; count += 1) ids.push(await rig.send());
    await rig.pass(20, 1);
    const last = ids.at(-1) ?? '';
    const hash = (await rig.attempts(last))[0]?.hash ?? '';
    const offers = rig.chain.offers.get(hash) ?? 0;
    assert.ok(offers <= 8, `${offers} broadcasts in 20 blocks`);
    assert.doesNotMatch((await rig.transaction(ids[20] ?? '')).statusReason ?? '', /does not have the transaction/);
    rig.chain.forget(() => false);
    await rig.pass(40, 9);
    assert.equal((await rig.transaction(last)).status, 'confirmed');
  });
});

describe('transactions that would revert', () => {
  it('transactions that would revert: wait while earlier ones of the account are not mined, and fail when they are', async (test) => {
    const rig = await startLaneRig(test);
    const first = await rig.send();
    const second = await rig.send({ data: refusedData });
    await rig.pass(3);
    const { status, statusReason } = await rig.transaction(second);
    assert.deepEqual([status, statusReason], ['pending', 'waiting: it would revert; will be decided when earlier transactions are mined']);
    await rig.pass(2, 9);
    assert.notEqual((await rig.transaction(first)).mined, null);
    assert.equal((await rig.transaction(second)).status, 'failed');
  });
});

describe('a network that charges an L1 fee', () => {
  for (const [cause, feeWei, laterFeeWei, fundsWei] of [
    ['the account is emptied', 10n ** 8n, 10n ** 8n, 10n ** 9n + 5n * 10n ** 7n],
    ['the L1 fee rises', 0n, 10n ** 8n, 10n ** 9n + 5n * 10n ** 7n],
  ] as const) {
    it(`L1 fee: the lowest transaction is released if the account can no longer pay it, and later ones go (${cause})`, async (test) => {
      const rig = await startLaneRig(test);
      rig.chain.setPublishingFee(feeWei);
      const unpayable = await rig.send({ valueWei: 10n ** 9n });
      const next = await rig.send({ valueWei: 1n });
      rig.chain.setFunds(fundsWei);
      rig.chain.setPublishingFee(laterFeeWei);
      await rig.pass(12);
      await rig.pass(12, 9);
      const { status, failureReason } = await rig.transaction(unpayable);
      assert.deepEqual([status, failureReason], ['failed', 'insufficient_funds']);
      assert.equal((await rig.transaction(next)).status, 'confirmed');
    });
  }
});

describe('a queue of one account', () => {
  it('has one transaction in flight while the account has delegated code, which nodes accept one at a time', async (test) => {
    const rig = await startLaneRig(test);
    rig.chain.setDelegated(true);
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1) ids.push(await rig.send());
    for (const id of ids) {
      const behind = ids.slice(ids.indexOf(id) + 1);
      assert.equal((await rig.attempts(id)).length, 1);
      for (const other of behind) assert.equal((await rig.transaction(other)).status, 'pending');
      await rig.pass(1, 9);
    }
    rig.chain.setDelegated(false);
    await rig.pass(1);
    const free = [await rig.send(), await rig.send()];
    for (const id of free) assert.notEqual((await rig.transaction(id)).status, 'pending');
  });

  it('does not bid against itself: transactions that wait only for earlier ones get no fee bump', async (test) => {
    const rig = await startLaneRig(test, { policies: { maxInFlight: 60 } });
    const ids: string[] = [];
    for (let count = 0; count < 60; count += 1) ids.push(await rig.send());
    // The first bids no longer meet the market.
    rig.chain.setBaseFee(205n);
    await rig.pass(40, 2);
    for (const id of ids) {
      assert.equal((await rig.transaction(id)).status === 'confirmed' || (await rig.transaction(id)).status === 'mined', true);
      assert.equal((await rig.attempts(id)).length, 1, id);
    }
  });
});
