import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newest } from '../../../src/sandbox/solana/chain.js';
import { solanaKey, transferInstruction } from '../../support/solana.js';
import { funds, receiver, startSolanaChain } from '../../support/solana-chain-rig.js';

describe('a Solana cluster', () => {
  it('a Solana cluster: reports its genesis hash, its newest confirmed block and balances', async (test) => {
    const { chain, solana, payer, advance } = await startSolanaChain(test);
    assert.equal(await chain.genesisHash(), solana.chain.genesisHash);
    await advance(3);
    const confirmed = solana.chain.tip({ ...newest, commitment: 'confirmed' });
    const first = await chain.head();
    assert.deepEqual([first.number, first.hash], [confirmed.slot, confirmed.slot.toString()]);
    assert.deepEqual(await chain.head(), first);
    assert.equal(await chain.balanceOf(payer), funds);
    assert.equal(await chain.balanceOf(solanaKey().address), 0n);
  });

  it('a Solana cluster: counts what unconfirmed blocks spent, and not what they brought', async (test) => {
    const { chain, payer, sent, solana } = await startSolanaChain(test);
    const before = await chain.balanceOf(receiver);
    await sent({ instructions: [transferInstruction(payer, receiver, 5_000_000n)] });
    solana.chain.advance();
    assert.ok((await chain.balanceOf(payer)) <= funds - 5_000_000n);
    assert.equal(await chain.balanceOf(receiver), before);
    solana.chain.advance();
    assert.equal(await chain.balanceOf(receiver), before + 5_000_000n);
  });
});
