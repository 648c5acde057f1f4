import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { nodeUnavailable } from '../../src/chains/rpc/node-error.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import { startSolana } from '../../src/sandbox/solana/start-solana.js';
import { startSolanaEngine } from '../support/engine-rig.js';
import { solanaKey, transferInstruction } from '../support/solana.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const sol = 1_000_000_000n;
/** No block takes an attempt any more, and the last that could have is final. */
const blocksUntilDead = 150 + 1 + 31 + 2;

/** Stores a dead transaction, and a signed one that no node has got; stops the service, and returns what starts it again. */
async function stoppedWithDead(test: TestContext) {
  const [folder, key] = [await temporaryFolder(), solanaKey()];
  const solana = await startSolana({ accounts: [{ address: key.address, lamports: 10n * sol }] });
  test.after(() => solana.stop());
  const { chain } = solana;
  let isSilent = false;
  let first = '';
  const changed = (one: Chain): Chain => ({
    ...one,
    async draft(request) {
      if (isSilent && JSON.stringify(request.content) === first) throw nodeUnavailable(null);
      return one.draft(request);
    },
    broadcastAll: async (raws) =>
      isSilent ? raws.map(() => ({ kind: 'unknown', sentence: 'no RPC node answered' })) : one.broadcastAll(raws),
  });
  const nodes = [solana.node, await solana.addNode()];
  const parts = { folder, key, urls: nodes.map(({ url }) => url), makeBlock: () => chain.advance() };
  const before = await startSolanaEngine({ ...parts, changed });
  const pay = async (lamports: bigint) =>
    (await before.send({ instructions: [transferInstruction(key.address, solanaKey().address, lamports)] })).transaction;
  try {
    chain.pool.losesPackets = true;
    const { id: dead, content } = await pay(sol);
    first = JSON.stringify(content);
    await before.until(dead, 'submitted');
    isSilent = true;
    chain.advance(blocksUntilDead);
    const { id: signed } = await pay(2n * sol);
    await before.until(signed, 'sent');
    return { nodes, dead, signed, start: () => startSolanaEngine(parts) };
  } finally {
    await before.stop();
    chain.pool.losesPackets = false;
  }
}

/** What is asked for a transaction that is signed again, or while its attempts are searched for. */
const questions = [
  'getBalance',
  'simulateTransaction',
  'getLatestBlockhash',
  'getRecentPrioritizationFees',
  'getFeeForMessage',
  'getBlocksWithLimit',
  'getBlock',
  'isBlockhashValid',
];

describe('a question about a dead transaction that no node answers after a restart', { concurrency: 4 }, () => {
  for (const method of questions) {
    it(`settle: ${method} keeps no signed transaction from being sent and confirmed`, async (test) => {
      const { nodes, dead, signed, start } = await stoppedWithDead(test);
      for (const node of nodes) node.fail(method, { error: { code: -32603, message: 'Internal error' } }, Number.POSITIVE_INFINITY);
      const rig = await start();
      test.after(() => rig.stop());
      await rig.untilWithBlocks(signed, 'confirmed');
      for (const node of nodes) node.heal();
      await rig.untilWithBlocks(dead, 'confirmed');
      assert.equal((await rig.attempts(dead)).length, 2);
    });
  }
});
