import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
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

  it('has the words of every node that it speaks of', () => {
    const nodes = new Set(broadcastTable.flatMap(({ examples }) => examples.map(({ node }) => node.replace(/[, ].*/, ''))));
    assert.deepEqual([...nodes].sort(), ['anvil', 'besu', 'erigon', 'geth', 'nethermind', 'reth']);
  });

  it('knows what it does not know', () => {
    for (const text of [
      '',
      'internal error',
      'unknown transaction type',
      'method not found',
      'invalid sender',
      'daily request count exceeded',
      'authority nonce too low',
    ]) {
      const outcome = outcomeFromNodeText(text);
      assert.deepEqual(outcome, { kind: 'unknown', sentence: `the node answered "${text}"` });
    }
  });

  it('makes something of any text, and never throws', () => {
    const words = broadcastTable.flatMap(({ examples }) => examples.flatMap(({ text }) => text.split(' ')));
    const mixed = fc.array(fc.oneof(fc.constantFrom(...words), fc.string(), fc.string({ unit: 'binary' })), { maxLength: 200 });
    fc.assert(
      fc.property(mixed, (parts) => {
        const { kind } = outcomeFromNodeText(parts.join(' '));
        assert.ok(['known', 'nonce_used', 'underpriced', 'wait', 'unknown'].includes(kind));
      }),
    );
  });
});
