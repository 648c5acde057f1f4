import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { BroadcastOutcome } from '../../../src/core/ports/chain/outcomes.js';
import { type LaneRig, startLaneRig } from '../../support/lane-rig.js';

const heads = 40;

const refused: BroadcastOutcome = {
  kind: 'wait',
  sentence: 'the node answered "no"',
  because: 'content',
};

/** What a lane must write, and the calls to nodes before it can. */
const situations: readonly {
  readonly what: string;
  readonly asks: string;
  before(rig: LaneRig): Promise<unknown>;
  after(rig: LaneRig): Promise<unknown>;
}[] = [
  {
    what: 'a foreign transaction in a slot',
    asks: 'findSender',
    before: (rig) => rig.send(),
    async after(rig) {
      rig.chain.useKey('block');
      await rig.pass(1);
    },
  },
  {
    what: 'a receipt that no node has',
    asks: 'findSender',
    async before(rig) {
      await rig.send({ data: '0x01', gasLimit: 100_000n });
      rig.chain.setReceiptsPruned(true);
    },
    after: (rig) => rig.pass(1, 9),
  },
  {
    what: 'a first attempt',
    asks: 'draft',
    async before(rig) {
      rig.chain.setFunds(0n);
      await rig.send();
    },
    async after(rig) {
      rig.chain.setFunds(10n ** 18n);
    },
  },
  {
    what: 'a gap',
    asks: 'draft',
    async before(rig) {
      rig.chain.useKey('block');
      await rig.pass(1);
      await rig.send();
      await rig.pass(1);
    },
    async after(rig) {
      rig.chain.takeBack(3, () => false);
      await rig.pass(3);
    },
  },
  {
    what: 'a slot that no node accepts',
    asks: 'draft',
    async before(rig) {
      rig.chain.setRefusal(({ valueWei }) => (valueWei === 7n ? refused : null));
      await rig.send({ valueWei: 7n });
      await rig.send();
      await rig.pass(3, 9);
    },
    after: (rig) => rig.pass(6, 9),
  },
];

for (const { what, asks, before, after } of situations)
  it(`a lane whose database refuses all changes does not ask nodes at each head about ${what}`, async (test) => {
    let isFull = false;
    const rig = await startLaneRig(test, { mayLog: /./, refuses: () => isFull });
    await before(rig);
    isFull = true;
    await after(rig);
    const asked = rig.asked(asks);
    for (let head = 0; head < heads; head += 1) {
      await rig.pass(1, 0, 250);
      for (let poll = 0; poll < 3; poll += 1) await rig.see(250);
    }
    const calls = rig.asked(asks) - asked;
    assert.ok(calls > 0 && calls <= heads / 3, `${calls} calls of ${asks} at ${heads} heads`);
  });
