import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newest } from '../../local-chains/solana/chain.js';
import { solanaKey } from '../../support/solana.js';
import { funds, startSolanaChain } from '../../support/solana-chain-rig.js';

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
});
