import assert from 'node:assert/strict';
import { it } from 'node:test';
import { stellarDialect } from '../../../src/chains/stellar/dialect.js';
import { codesAmong } from '../../support/error-codes.js';

it('the dialect of Stellar nodes: these codes and words are about the node, and the passphrase identifies a network', () => {
  const { identity, isAboutNode, genesis, blockAt, dataFrom } = stellarDialect('Test Net');
  assert.deepEqual(codesAmong(isAboutNode), [-32603, -32601]);
  assert.ok(isAboutNode(-32600, 'startLedger must be within the ledger range: 5 - 9'));
  assert.deepEqual([identity?.name, identity?.expected, identity?.shown('Test Net')], ['network passphrase', 'Test Net', 'Test Net']);
  assert.deepEqual([genesis, blockAt, dataFrom('0x00')], [null, null, null]);
});
