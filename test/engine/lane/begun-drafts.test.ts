import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { nodeUnavailable } from '../../../src/chains/rpc/node-error.js';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { openStore } from '../../../src/storage/open-store.js';
import { wanted } from '../../support/evm.js';
import { createModelChain } from '../../support/model-chain.js';
import { modelRelayer, startModelLane } from '../../support/model-lane.js';
import { createRandom } from '../../support/seeded-random.js';
import { silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

/** After this many drafts the node answers none: a loop that never lets the event loop go on would end no test. */
const mostDrafts = 50;

/** A lane that is not settled yet, whose node fails every draft at once. */
async function startUnsettled(test: TestContext, failure: () => Error) {
  const relayer = modelRelayer('r1', {});
  const model = createModelChain(relayer.network, relayer.address, createRandom(1));
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  let elapsedMs = 0;
  let drafts = 0;
  const connect: typeof model.connect = () => {
    const connection = model.connect();
    const { chain } = connection;
    assert.ok(chain.sequence !== null);
    const draft = () => {
      drafts += 1;
      return drafts < mostDrafts ? Promise.reject(failure()) : new Promise<never>(() => undefined);
    };
    return { ...connection, chain: { ...chain, draft, sequence: { ...chain.sequence, draftsAnyNumber: true } } };
  };
  const clock = { nowMs: () => 1_800_000_000_000 + elapsedMs, elapsedMs: () => elapsedMs };
  const lane = await startModelLane(relayer, { travelling: model.travelling, connect }, store, clock);
  test.after(async () => {
    lane.kill();
    await store.close();
  });
  /** The node answers for its head, and for nothing else. */
  async function look(): Promise<void> {
    lane.look();
    await lane.rest();
    for (let head = model.travelling.find(({ name }) => name === 'head'); head !== undefined; ) {
      head.letGo('answered');
      await lane.rest();
      head = model.travelling.find(({ name }) => name === 'head');
    }
  }
  return {
    look,
    drafts: () => drafts,
    async send() {
      await sendTransaction(lane.deps, relayer, wanted());
      await lane.rest();
    },
    pass(ms: number) {
      elapsedMs += ms;
    },
  };
}

for (const [what, failure] of [
  ['nodes that are known to be away', () => nodeUnavailable(new Error('every endpoint asked for a pause'))],
  ['an unexpected error', () => new Error('unexpected')],
] as const) {
  it(`a draft that begins before the lane may sign is begun again only after a while: ${what}`, async (test) => {
    const rig = await startUnsettled(test, failure);
    await rig.look();
    await rig.send();
    await rig.look();
    assert.equal(rig.drafts(), 1);
    rig.pass(2_000);
    await rig.look();
    assert.equal(rig.drafts(), 2);
  });
}
