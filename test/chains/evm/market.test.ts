import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { evmDialect } from '../../../src/chains/evm/dialect.js';
import { createMarket } from '../../../src/chains/evm/market.js';
import { createBlockMemory } from '../../../src/chains/rpc/block-memory.js';
import { createRpc } from '../../../src/chains/rpc/rpc.js';
import { gwei } from '../../support/chain-rig.js';
import { evmNetwork, rememberingLog } from '../../support/evm.js';
import { answering, startFakeNode } from '../../support/fake-node.js';

const hex = (wei: bigint): string => `0x${wei.toString(16)}`;

/** A fee history of four blocks that paid these priority fees at every speed. */
function history(priorities: readonly bigint[]) {
  const baseFeePerGas = Array.from({ length: 5 }, () => hex(gwei));
  return {
    oldestBlock: '0x1',
    baseFeePerGas,
    gasUsedRatio: [0, 0, 0, 0],
    reward: priorities.map((wei) => Array.from({ length: 4 }, () => hex(wei))),
  };
}

describe('market', () => {
  for (const [blocks, rewards] of [
    ['four', [gwei, gwei, 4_000n * gwei, gwei]],
    ['two', [0n, gwei, 4_000n * gwei, 0n]],
  ] as const) {
    it(`market: of ${blocks} blocks with priority fees, one whose only transaction paid an absurd fee does not set the price`, async (test) => {
      const node = await startFakeNode(test, (request) =>
        answering(request, ({ method }) => (method === 'eth_feeHistory' ? history(rewards) : null)),
      );
      const rpcUrls = [{ url: node.url, weight: 100 }];
      const rpc = createRpc({ network: evmNetwork(), rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, evmDialect(31337n));
      test.after(() => rpc.close());
      const price = await createMarket(rpc, createBlockMemory(3_000), true).priceOf('average', 'eip1559');
      assert.ok(price.kind === 'eip1559' && price.maxPriorityFeePerGasWei <= 10n * gwei);
    });
  }

  it('market: one endpoint that reports a thousand times the price of another one does not set the first bid', async (test) => {
    const nodes = await Promise.all(
      [1_000n, 1n].map((factor) =>
        startFakeNode(test, (request) =>
          answering(request, ({ method }) =>
            method === 'eth_feeHistory' ? history([gwei, gwei, gwei, gwei].map((wei) => wei * factor)) : null,
          ),
        ),
      ),
    );
    const rpcUrls = nodes.map(({ url }, index) => ({ url, weight: 100 - index }));
    const rpc = createRpc({ network: evmNetwork(), rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, evmDialect(31337n));
    test.after(() => rpc.close());
    const price = await createMarket(rpc, createBlockMemory(3_000), true).priceOf('average', 'eip1559');
    assert.ok(price.kind === 'eip1559' && price.maxPriorityFeePerGasWei <= 10n * gwei);
  });
});
