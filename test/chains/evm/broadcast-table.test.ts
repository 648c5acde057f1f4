import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { outcomeFromNodeText } from '../../../src/chains/evm/broadcast.js';
import { broadcastTable } from '../../../src/chains/evm/broadcast-table.js';

describe('the table of node answers', () => {
  for (const rule of broadcastTable) {
    it(`${rule.outcome}: ${rule.meaning}`, () => {
      for (const { node, text } of rule.examples) {
        const deciding = broadcastTable.find(({ pattern }) => pattern.test(text));
        assert.equal(deciding?.meaning, rule.meaning, `${node}: ${text}`);
        assert.equal(outcomeFromNodeText(text).kind, rule.outcome);
      }
    });
  }

  it('knows what it does not know', () => {
    for (const text of [
      '',
      'internal error',
      'unknown transaction type',
      'method not found',
      'invalid sender',
      'daily request count exceeded',
    ]) {
      const outcome = outcomeFromNodeText(text);
      assert.deepEqual(outcome, { kind: 'unknown', sentence: `the node answered "${text}"` });
    }
  });
});
