import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { questions } from '../../../src/chains/evm/questions.js';
import { networkTypes } from '../../../src/core/records/network.js';
import { allCells } from './cells.js';
import { evmLies } from './evm-lies.js';
import { runCell } from './run-cell.js';

const { asks, subjects } = evmLies;

/** Each of them was wrong once. */
const mended = [
  'head.number / too low / the heavier of two / expiry',
  'gasPrice / 0 / the lighter of two / send',
  'nonceAt / too high / one of three / expiry',
  'nonceAt / too low / one of three / restart',
  'usesInBlock.nonce / 0 / one of three / restart',
  'pricesInBlock.maxFeePerGas / too low / while another is away / restart',
  'gasEstimate / too low / one of three / send',
  'receipt.blockNumber / 0 / the heavier of two / send',
  'receipt.blockNumber / too low / the lighter of two / expiry',
  'receipt.blockNumber / too low / the lighter of two / restart',
  'receipt.blockNumber / 0 / the heavier of two / restart',
  'newestNonce / 0 / the heavier of two / send',
  'newestNonce / stale for ever / one of three / restart',
  'receipt / forged / the lighter of two / send',
  'receipt / forged / one of three / expiry',
  'head.number / head shifted down / the only URL / send',
  'head.number / head shifted down / the heavier of two / restart',
  'head.number / head shifted down / one of three / restart',
  'head.number / blocks shifted down / one of three / restart',
  'head.number / blocks shifted up / the heavier of two / send',
  'receipt / forged / the lighter of two / cancel',
  'receipt / forged / the heavier of two / send',
  'stellar: transaction / stale for ever / the heavier of two / send',
  'stellar: transaction / stale for ever / while another is away / send',
  'stellar: transaction.ledger / 0 / the lighter of two / cancel',
  'stellar: transaction.ledger / 0 / while another is away / restart',
  'stellar: transaction.ledger / too low / the heavier of two / replace',
  'stellar: transaction.ledger / too low / the lighter of two / restart',
  'stellar: latestLedger.closeTime / too high / the heavier of two / cancel',
  'solana: blockSignatures.blockHeight / 0 / while another is away / expiry',
  'solana: finalizedBlocks / 0 / the heavier of two / replace',
  'solana: statuses.slot / 0 / the lighter of two / expiry',
  'solana: statuses.slot / 0 / one of three / restart',
  'solana: statuses / null / while another is away / expiry',
  'solana: balance.value / 0 / one of three / send',
  'solana: position.blockHeight / 0 / while another is away / restart',
  'solana: position.absoluteSlot / blocks shifted up / the heavier of two / replace',
];

describe('lies: cells that failed before', { concurrency: 1 }, () => {
  const cells = new Map(networkTypes.flatMap(allCells).map((cell) => [cell.name, cell]));
  for (const name of mended)
    it(`${name}: holds`, async () => {
      const cell = cells.get(name);
      assert.ok(cell !== undefined);
      const { violation, told } = await runCell(cell);
      assert.equal(violation, null);
      assert.ok(told > 0, 'the node has lied');
    });
});

describe('lies: the matrix', () => {
  it('has cells about every question, but for those that look like another one, and the one that decides nothing', () => {
    const named = new Set([...subjects('answers'), ...subjects('amounts')].map(({ question }) => question));
    assert.deepEqual(
      Object.keys(questions).filter((question) => question !== 'newHeads' && ![...named].some((name) => name === question)),
      ['blockHash', 'hashesInBlock', 'simulation'],
    );
  });

  it('recognizes on the wire which question is asked', () => {
    const account = `0x${'12'.repeat(20)}`;
    const call = { from: account, to: account, value: '0x1', data: '0x' };
    const method = 'eth_call';
    assert.ok(asks('head', { method: 'eth_getBlockByNumber', params: ['latest', false] }));
    assert.ok(!asks('block', { method: 'eth_getBlockByNumber', params: ['latest', false] }));
    assert.ok(asks('anchor', { method: 'eth_getBlockByNumber', params: ['0x0', false] }));
    assert.ok(asks('block', { method: 'eth_getBlockByNumber', params: ['0x5', false] }));
    assert.ok(asks('nonceAt', { method: 'eth_getTransactionCount', params: [account, '0x5'] }));
    assert.ok(!asks('nonceAt', { method: 'eth_getTransactionCount', params: [account, 'latest'] }));
    assert.ok(asks('dryRun', { method, params: [{ ...call, gas: '0x5208' }, '0x5'] }));
    assert.ok(asks('revert', { method, params: [{ ...call, gas: '0x5208' }, '0x5'] }));
    assert.ok(asks('publishingFee', { method, params: [{ to: account, data: '0x' }, 'latest'] }));
  });
});
