import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { createDenials } from '../../../src/chains/rpc/denials.js';
import { createRpc } from '../../../src/chains/rpc/rpc.js';
import { solanaDialect } from '../../../src/chains/solana/dialect.js';
import { compileInstructions } from '../../../src/chains/solana/instructions.js';
import { atReachedSlot } from '../../../src/chains/solana/reached-slot.js';
import { simulate } from '../../../src/chains/solana/simulate.js';
import { rememberingLog } from '../../support/evm.js';
import { answering, FakeError, startFakeNode } from '../../support/fake-node.js';
import { solanaKey, solanaNetwork, solanaRelayer, transferInstruction } from '../../support/solana.js';
import { passingClock } from '../../support/solana-chain-rig.js';

const relayer = solanaRelayer(solanaKey().address);
const genesis = solanaKey().address;
const passing = { err: null, logs: [], unitsConsumed: 1, accounts: null, innerInstructions: null };

/** Simulates for a draft at a slot, at nodes that have reached these slots; null: the node has no simulation at all. */
async function start(test: TestContext, ...reached: readonly (number | null)[]) {
  const slots = [...reached];
  const demanded: unknown[] = [];
  const nodes = await Promise.all(
    slots.map((_, index) =>
      startFakeNode(test, (request) =>
        answering(request, ({ method, params }) => {
          if (method === 'getGenesisHash') return genesis;
          const slot = slots[index];
          if (slot == null) return new FakeError(-32601, 'Method not found');
          const { minContextSlot } = params[1] as { readonly minContextSlot: number };
          demanded.push(minContextSlot);
          if (minContextSlot > slot) return new FakeError(-32016, 'Minimum context slot has not been reached');
          return { context: { slot }, value: passing };
        }),
      ),
    ),
  );
  const rpcUrls = nodes.map(({ url }, index) => ({ url, weight: 100 - index }));
  const rpc = createRpc({ network: solanaNetwork(), rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, solanaDialect);
  test.after(() => rpc.close());
  const { clock, pass } = passingClock();
  const unreached = createDenials(clock, 20_000);
  const message = compileInstructions(relayer.address, [transferInstruction(relayer.address, genesis, 5n)]);
  const draft = (newest: bigint) =>
    atReachedSlot(unreached, newest, (slot) => simulate(rpc, { message, slot, relayer, isDeniedLong: () => false }));
  return { slots, demanded, draft, pass };
}

const unavailable = { reason: 'NODE_UNAVAILABLE' };

for (const reached of [[7], [7, 7], [7, null], [null, 7], [null, null, 7], [7, 6, 7]]) {
  it(`reached slot: one that none of the nodes at ${JSON.stringify(reached)} reaches is not demanded for ever`, async (test) => {
    const { draft, pass, demanded } = await start(test, ...reached);
    await assert.rejects(draft(1_000n), unavailable);
    pass(19_000);
    await assert.rejects(draft(1_001n), unavailable);
    assert.ok(!demanded.includes(0), JSON.stringify(demanded));
    pass(1_001);
    assert.ok(!('refused' in (await draft(1_002n))));
    assert.ok(!('refused' in (await draft(1_003n))));
  });
}

it('reached slot: the wait begins again once a node has reached the newest slot', async (test) => {
  const { draft, pass, slots } = await start(test, 7, 7);
  await assert.rejects(draft(8n), unavailable);
  pass(19_000);
  slots[1] = 8;
  assert.ok(!('refused' in (await draft(8n))));
  pass(2_000);
  await assert.rejects(draft(9n), unavailable);
});
