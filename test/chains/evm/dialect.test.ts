import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { evmDialect, isStatePruned } from '../../../src/chains/evm/dialect.js';
import { codesAmong } from '../../support/error-codes.js';

describe('pruned state', () => {
  it('pruned state: is recognized in the errors of each node', () => {
    const texts = {
      geth: 'missing trie node 1b2c (path ) state 0x1b2c is not available, not found',
      'geth, path scheme': 'historical state 1b2c is not available',
      'geth, tracing': 'required historical state unavailable (reexec=128)',
      erigon: 'old data not available due to pruning',
      nethermind: 'No state available for block 100 (0x1b...2c)',
      reth: 'state at block #100 is pruned',
      'reth, history': 'pruned history unavailable',
      besu: 'World state unavailable',
      anvil: 'BlockOutOfRangeError: block height is 200 but requested was 100',
      'a gateway': 'this request needs an archive node',
    };
    for (const [node, text] of Object.entries(texts)) assert.ok(isStatePruned(text), node);
  });

  it('pruned state: is not confused with an unknown block or a rejection', () => {
    for (const text of [
      'header not found',
      'Unknown block',
      'block not found: 0x65',
      'BlockOutOfRangeError: block height is 200 but requested was 201',
      'nonce too low: address 0xAb, tx: 7 state: 8',
      'execution reverted: not available',
      '',
    ]) {
      assert.ok(!isStatePruned(text), text);
    }
  });
});

it('the dialect of EVM nodes: these codes are about the node, and data is found in any text', () => {
  const { isAboutNode, dataFrom, identity } = evmDialect(31337n);
  assert.deepEqual(codesAmong(isAboutNode), [-32603, -32601, -32005, -32002]);
  assert.ok(isAboutNode(-32000, 'missing trie node 1b2c'));
  assert.equal(dataFrom('Reverted 0x08C379A0 by it'), '0x08c379a0');
  for (const none of [null, 7, 'nothing', {}]) assert.equal(dataFrom(none), null);
  assert.deepEqual(
    [identity?.name, identity?.expected, identity?.shown('0x7a69'), identity?.shown('moon')],
    ['chain ID', '31337', '31337', 'moon'],
  );
});
