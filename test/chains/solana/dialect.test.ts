import assert from 'node:assert/strict';
import { it } from 'node:test';
import { noHistoryCode, solanaDialect } from '../../../src/chains/solana/dialect.js';
import { codesAmong } from '../../support/error-codes.js';

it('the dialect of Solana nodes: these codes are about the node', () => {
  assert.deepEqual(
    codesAmong(solanaDialect.isAboutNode),
    [-32603, -32601, -32016, -32015, -32014, -32012, -32011, -32010, -32009, -32008, -32007, -32005, -32004, -32001],
  );
  assert.equal(noHistoryCode, -32011);
  assert.deepEqual([solanaDialect.identity, solanaDialect.blockAt, solanaDialect.dataFrom()], [null, null, null]);
});
