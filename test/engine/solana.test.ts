import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { nodeUnavailable } from '../../src/chains/rpc/node-error.js';
import type { Chain } from '../../src/core/ports/chain.js';
import type { Attempt } from '../../src/core/transaction/transaction.js';
import { type SolanaRigOptions, startSolanaRig } from '../support/engine-rig.js';
import { solanaKey, transferInstruction } from '../support/solana.js';
import { temporaryFolder } from '../support/temporary-folder.js';

async function start(test: TestContext, options: Partial<SolanaRigOptions> = {}) {
  const rig = await startSolanaRig({ folder: await temporaryFolder(), ...options });
  test.after(() => rig.stop());
  return rig;
}

describe('transactions on Solana', () => {
  it('a transfer is signed, sent, mined and confirmed', async (test) => {
    const rig = await start(test);
    const to = solanaKey().address;
    const { transaction } = await rig.send({ instructions: [transferInstruction(rig.key.address, to, 5_000_000n)] });
    await rig.until(transaction.id, 'submitted');
    rig.solana.chain.advance(2);
    const mined = await rig.until(transaction.id, 'mined');
    assert.equal(mined.shown?.hash, (await rig.attempts(transaction.id))[0]?.hash);
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.statusReason, null);
    assert.equal(await rig.chain.balanceOf(to), 5_000_000n);
  });

  it('a transaction whose outcome no node can know fails and is never signed again', async (test) => {
    let isLost = false;
    const changed = (chain: Chain): Chain => {
      const { unsequenced } = chain;
      if (unsequenced === null) return chain;
      const lost = (attempts: readonly Attempt[]) => new Map(attempts.map(({ hash }) => [hash, { kind: 'unknown' } as const]));
      return {
        ...chain,
        unsequenced: { ...unsequenced, outcomes: async (attempts) => (isLost ? lost(attempts) : unsequenced.outcomes(attempts)) },
      };
    };
    const rig = await start(test, { changed });
    const { transaction } = await rig.send({ instructions: [transferInstruction(rig.key.address, solanaKey().address, 5_000_000n)] });
    await rig.until(transaction.id, 'submitted');
    isLost = true;
    const failed = await rig.untilWithBlocks(transaction.id, 'failed');
    assert.equal(
      failed.transaction.statusReason,
      "outcome unknown: the RPC nodes no longer have the blocks that might contain it; check the account's history before you send it again",
    );
    assert.equal(failed.transaction.failureReason, 'unresolvable');
    assert.equal((await rig.attempts(transaction.id)).length, 1);
  });

  it('a transaction that no node can estimate again delays no other', async (test) => {
    let isUnanswered = false;
    const changed = (chain: Chain): Chain => ({
      ...chain,
      // What was sent is dropped, and nobody can be asked about it again.
      broadcastAll: async (raws) => (isUnanswered ? chain.broadcastAll(raws) : raws.map(() => ({ kind: 'accepted' }))),
      draft: async (request) => {
        if (isUnanswered && JSON.stringify(request.content) === first) throw nodeUnavailable(null);
        return chain.draft(request);
      },
    });
    const rig = await start(test, { changed });
    const transfer = (lamports: bigint) => [transferInstruction(rig.key.address, solanaKey().address, lamports)];
    const { transaction } = await rig.send({ instructions: transfer(5_000_000n) });
    const first = JSON.stringify(transaction.content);
    await rig.until(transaction.id, 'submitted');
    isUnanswered = true;
    rig.solana.chain.advance(200);
    const other = await rig.send({ instructions: transfer(6_000_000n) });
    await rig.untilWithBlocks(other.transaction.id, 'confirmed');
    assert.equal((await rig.attempts(transaction.id)).length, 1);
  });
});
