import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Receipt, SecondReading } from '../../../src/core/ports/chain/outcomes.js';
import { replaceTransaction } from '../../../src/core/transaction/replace-transaction.js';
import { wanted } from '../../support/evm.js';
import { type LaneRig, startLaneRig } from '../../support/lane-rig.js';
import { modelRelayer } from '../../support/model-lane.js';

it('one receipt with a block number that is far too high delays no confirmation', async (test) => {
  const rig = await startLaneRig(test);
  const id = await rig.send();
  rig.chain.setReceiptLie((receipt) => ({ ...receipt, blockNumber: 10n ** 9n }));
  await rig.pass(1, 9);
  rig.chain.setReceiptLie(null);
  await rig.pass(10);
  await rig.restart();
  await rig.pass(10);
  const { status, mined } = await rig.transaction(id);
  assert.equal(status, 'confirmed', `mined in block ${mined?.blockNumber}`);
});

it('after a receipt with a block number that is far too high, a reorg that removes the transaction leads to a rebroadcast', async (test) => {
  const rig = await startLaneRig(test);
  const id = await rig.send();
  rig.chain.setReceiptLie((receipt) => ({ ...receipt, blockNumber: 10n ** 9n }));
  await rig.pass(1, 9);
  rig.chain.setReceiptLie(null);
  rig.chain.takeBack(1, () => false);
  await rig.pass(10, 9);
  const behind = await rig.send();
  await rig.pass(10, 9);
  assert.deepEqual([(await rig.transaction(id)).status, (await rig.transaction(behind)).status], ['confirmed', 'confirmed']);
});

it('a receipt that no node can read delays no other transaction', async (test) => {
  const rig = await startLaneRig(test);
  const ids = [await rig.send(), await rig.send()];
  const [unreadable] = await rig.attempts(ids[0] ?? '');
  rig.chain.setSilence((about) => about === unreadable?.hash);
  await rig.pass(5, 9);
  assert.deepEqual(await statuses(rig, ids), ['submitted', 'confirmed']);
  rig.chain.setSilence(() => false);
  await rig.pass(1, 9);
  assert.deepEqual(await statuses(rig, ids), ['confirmed', 'confirmed']);
});

it('a block that no node shows delays no transaction in another block', async (test) => {
  const rig = await startLaneRig(test);
  const first = await rig.send();
  await rig.pass(1, 9);
  const ids = [first, await rig.send()];
  await rig.pass(1, 9);
  const hidden = (await rig.transaction(first)).mined?.blockNumber;
  rig.chain.setSilence((about) => about === hidden);
  await rig.pass(5, 9);
  assert.deepEqual(await statuses(rig, ids), ['mined', 'confirmed']);
  rig.chain.setSilence(() => false);
  await rig.pass(1, 9);
  assert.deepEqual(await statuses(rig, ids), ['confirmed', 'confirmed']);
});

async function statuses(rig: LaneRig, ids: readonly string[]): Promise<readonly string[]> {
  return (await Promise.all(ids.map((id) => rig.transaction(id)))).map(({ status }) => status);
}

it('a final block without a receipt is enough for a payment that runs no code', async (test) => {
  const rig = await startLaneRig(test);
  const id = await rig.send();
  rig.chain.setReceiptsPruned(true);
  await rig.pass(1, 9);
  await rig.pass(8);
  const { status, mined } = await rig.transaction(id);
  assert.deepEqual([status, mined?.succeeded, mined?.facts], ['confirmed', true, null]);
});

it('a final block without a receipt is not enough for a payment to a contract, with any gas', async (test) => {
  const rig = await startLaneRig(test);
  const id = await rig.send({ gasLimit: 21_000n });
  rig.chain.setReceiverCode(true);
  rig.chain.setReceiptsPruned(true);
  await rig.pass(1, 9);
  await rig.pass(8);
  assert.equal((await rig.transaction(id)).mined, null);
});

describe('a receipt that says that a payment failed', () => {
  async function outcome(
    test: TestContext,
    { reading, hasCode = false, says = false }: { reading: SecondReading; hasCode?: boolean; says?: boolean },
  ) {
    const rig = await startLaneRig(test, { mayLog: /^RPC nodes show different receipts/ });
    const id = await rig.send({ gasLimit: 21_000n });
    rig.chain.setReceiverCode(hasCode);
    rig.chain.setReceiptLie((receipt) => ({ ...receipt, succeeded: says }));
    rig.chain.setSecondReading(() => reading);
    await rig.pass(1, 9);
    await rig.pass(8);
    const { status, mined } = await rig.transaction(id);
    return [status, mined?.succeeded];
  }

  it('counts if two endpoints say so, whether the receiver has code or not', async (test) => {
    for (const hasCode of [true, false])
      assert.deepEqual(await outcome(test, { reading: 'same', hasCode }), ['failed', false], String(hasCode));
  });

  it('counts with one endpoint only if the receiver has code', async (test) => {
    assert.deepEqual(await outcome(test, { reading: 'alone', hasCode: true }), ['failed', false]);
    assert.deepEqual(await outcome(test, { reading: 'alone' }), ['confirmed', true]);
  });

  it('waits if two endpoints differ and the receiver has code, whichever of them says so', async (test) => {
    for (const says of [true, false]) {
      assert.deepEqual(await outcome(test, { reading: 'status', hasCode: true, says }), ['mined', says]);
      assert.deepEqual(await outcome(test, { reading: 'status', says }), ['confirmed', true]);
    }
  });
});

describe('a receipt that no other endpoint has yet', () => {
  async function startUnread(test: TestContext) {
    const rig = await startLaneRig(test);
    const id = await rig.send();
    rig.chain.setSecondReading(() => 'unknown');
    await rig.pass(1, 9);
    await rig.pass(2);
    assert.equal((await rig.transaction(id)).status, 'mined');
    return { rig, id };
  }

  it('keeps the lane from no head', async (test) => {
    const { rig } = await startUnread(test);
    await rig.pass(10, 0, 1_500);
    const before = rig.asked('nextAt');
    await rig.pass(10, 0, 1_500);
    assert.equal(rig.asked('nextAt') - before, 10);
  });

  it('is read once per block, however often the head is read', async (test) => {
    const { rig, id } = await startUnread(test);
    const before = rig.asked('nextAt');
    for (let block = 0; block < 3; block += 1) {
      await rig.pass(1, 9, 2_000);
      for (let looks = 0; looks < 6; looks += 1) await rig.see(300);
    }
    assert.equal(rig.asked('nextAt') - before, 3);
    rig.chain.setSecondReading(() => 'same');
    await rig.pass(1, 9);
    assert.equal((await rig.transaction(id)).status, 'confirmed');
  });

  it('is read again after two block times, also if no other block comes', async (test) => {
    const { rig, id } = await startUnread(test);
    rig.chain.setSecondReading(() => 'same');
    await rig.see(1_900);
    assert.equal((await rig.transaction(id)).status, 'mined');
    await rig.see(100);
    assert.equal((await rig.transaction(id)).status, 'confirmed');
  });

  it('waits as long again after a reorg', async (test) => {
    const { rig, id } = await startUnread(test);
    await rig.pass(3);
    rig.chain.takeBack(6, () => true);
    await rig.pass(1);
    await rig.pass(1, 9);
    await rig.pass(2);
    assert.equal((await rig.transaction(id)).status, 'mined');
    await rig.pass(6);
    assert.equal((await rig.transaction(id)).status, 'confirmed');
  });
});

it('a receipt of which another endpoint knows nothing is not final, also while no node shows the account', async (test) => {
  const rig = await startLaneRig(test);
  const ids = [await rig.send(), await rig.send()];
  rig.chain.setReceiptsPruned(true);
  rig.chain.setReceiverCode(true);
  await rig.pass(5, 9);
  rig.chain.setAccountAbsent(true);
  rig.chain.setReceiptsPruned(false);
  const [known] = await rig.attempts(ids[0] ?? '');
  rig.chain.setSecondReading(({ hash }) => (hash === known?.hash ? 'same' : 'unknown'));
  await rig.pass(1);
  assert.deepEqual(await statuses(rig, ids), ['confirmed', 'mined']);
});

it('a receipt becomes final without the fee that is disputed', async (test) => {
  const rig = await startLaneRig(test);
  const id = await rig.send();
  const facts = { gasUsed: 21_000n, feePaid: 9n, returnValueXdr: null };
  rig.chain.setReceiptLie((receipt) => ({ ...receipt, facts }));
  rig.chain.setSecondReading((receipt) => ({ ...receipt, facts: { ...facts, feePaid: null } }));
  await rig.pass(1, 9);
  await rig.pass(4);
  const { status, mined } = await rig.transaction(id);
  assert.deepEqual([status, mined?.facts], ['confirmed', { ...facts, feePaid: null }]);
});

it('a final block without a receipt never ends a transaction: it waits until a node has the receipt', async (test) => {
  const rig = await startLaneRig(test);
  const id = await rig.send({ data: '0x01', gasLimit: 100_000n });
  rig.chain.setReceiptsPruned(true);
  await rig.pass(1, 9);
  await rig.pass(40);
  const { statusReason } = await rig.transaction(id);
  assert.match(statusReason ?? '', /^waiting: block \d+ contains it, but no RPC node has a receipt that can be read/);
  await rig.pass(400);
  assert.equal((await rig.transaction(id)).failureReason, null);
  rig.chain.setReceiptsPruned(false);
  await rig.pass(40);
  assert.equal((await rig.transaction(id)).status, 'confirmed');
});

describe('a node that says that slots are used whose transactions only wait', () => {
  const blocks = 40;

  async function askedWith(
    test: TestContext,
    inFlight: number,
    lie: (rig: LaneRig) => void,
  ): Promise<{ readonly rig: LaneRig; readonly ids: readonly string[]; readonly asked: number }> {
    const rig = await startLaneRig(test, { policies: { maxInFlight: 2_048 } });
    const ids: string[] = [];
    while (ids.length < inFlight) ids.push(await rig.send());
    lie(rig);
    await rig.pass(1);
    const before = rig.chain.receiptsAsked();
    await rig.pass(blocks);
    return { rig, ids, asked: rig.chain.receiptsAsked() - before };
  }

  for (const [words, lie] of [
    ['counts its pool into the nonce', (rig: LaneRig) => rig.chain.setPoolCounted(true)],
    ['claims a higher nonce', (rig: LaneRig) => rig.chain.setNonceLie(1_000n)],
  ] as const)
    it(`is asked for at most 16 receipts per block with 200 in flight, if it ${words}`, async (test) => {
      const { asked } = await askedWith(test, 200, lie);
      assert.ok(asked <= 16 * blocks, `${asked} receipts in ${blocks} blocks`);
    });

  it('is asked for at most five receipts per block in the long run about one with twenty attempts, and notices when it is mined', async (test) => {
    const rig = await startLaneRig(test);
    const id = await rig.send();
    for (let version = 2; version <= 20; version += 1) {
      const content = wanted({ valueWei: BigInt(version) });
      await Promise.all([replaceTransaction(rig.lane().deps, modelRelayer('r1', { requiredConfirmations: 3 }), id, content), rig.see()]);
    }
    assert.equal((await rig.attempts(id)).length, 20);
    rig.chain.setNonceLie(1_000n);
    await rig.pass(20);
    const before = rig.chain.receiptsAsked();
    await rig.pass(blocks);
    const asked = rig.chain.receiptsAsked() - before;
    assert.ok(asked > 0 && asked <= 5 * blocks, `${asked} receipts in ${blocks} blocks`);
    await rig.pass(1, 9);
    await rig.pass(8);
    assert.notEqual((await rig.transaction(id)).mined, null);
  });

  it('delays no receipt once blocks hold the transactions', async (test) => {
    const { rig, ids } = await askedWith(test, 120, ({ chain }) => chain.setPoolCounted(true));
    await rig.pass(1, 100);
    const expected = ids.map((_, index) => (index < 100 ? 'mined' : 'submitted'));
    assert.deepEqual(await statuses(rig, ids), expected);
  });
});

describe('receipts about which endpoints differ', () => {
  const count = 40;

  async function allMined(test: TestContext): Promise<{ rig: LaneRig; ids: readonly string[] }> {
    const rig = await startLaneRig(test, { policies: { maxInFlight: count } });
    const ids: string[] = [];
    for (let sent = 0; sent < count; sent += 1) ids.push(await rig.send());
    return { rig, ids };
  }

  for (const reading of ['different', 'unknown'] as const)
    it(`"${reading}" for ever costs a head the same with any number of them, and all end once two agree`, async (test) => {
      const { rig, ids } = await allMined(test);
      let read: Receipt[] = [];
      rig.chain.setSecondReading((receipt) => {
        read.push(receipt);
        return reading;
      });
      await rig.pass(1, count);
      // Four heads are within the patience with endpoints that say nothing.
      await rig.pass(3, 0, 5_000);
      assert.ok(new Set(read.map(({ hash }) => hash)).size >= count, `${read.length} were read`);
      read = [];
      await rig.pass(4, 0, 5_000);
      assert.ok(read.length > 0 && read.length <= 4 * 12, `${read.length} were read at 4 heads`);
      const left = await statuses(rig, ids);
      assert.ok(
        left.every((status) => status === 'mined'),
        left.join(),
      );
      rig.chain.setSecondReading(() => 'same');
      await rig.pass(2, 0, 5_000);
      assert.deepEqual(new Set(await statuses(rig, ids)), new Set(['confirmed']));
    });

  it('each gets its turn', async (test) => {
    const { rig, ids } = await allMined(test);
    const read = new Set<string>();
    rig.chain.setSecondReading(() => 'different');
    await rig.pass(4, count);
    rig.chain.setSecondReading(({ hash }) => {
      read.add(hash);
      return 'different';
    });
    await rig.pass(4);
    assert.equal(read.size, ids.length);
  });
});

it('receipts in blocks that are not there are looked up in turns', async (test) => {
  const count = 60;
  const rig = await startLaneRig(test, { policies: { maxInFlight: count } });
  const ids: string[] = [];
  for (let sent = 0; sent < count; sent += 1) ids.push(await rig.send());
  let shown = 0;
  rig.chain.setReceiptLie((receipt) => {
    shown += 1;
    return { ...receipt, blockHash: `0x${'ab'.repeat(32)}` };
  });
  await rig.pass(1, count);
  shown = 0;
  await rig.pass(4);
  assert.ok(shown > 0 && shown <= 4 * (4 + 12), `${shown} receipts were shown at 4 heads`);
  rig.chain.setReceiptLie(null);
  await rig.pass(6);
  assert.deepEqual(new Set(await statuses(rig, ids)), new Set(['confirmed']));
});
