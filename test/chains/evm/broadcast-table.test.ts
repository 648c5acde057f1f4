import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { outcomeFromNodeText } from '../../../src/chains/evm/broadcast.js';
import { type BroadcastRule, broadcastTable } from '../../../src/chains/evm/broadcast-table.js';

function examplesOf({ examples }: BroadcastRule): readonly (readonly [node: string, text: string])[] {
  return Object.entries(examples).flatMap(([node, texts]) => texts.map((text) => [node, text] as const));
}

describe('broadcast table', () => {
  for (const rule of broadcastTable) {
    it(`broadcast table: classifies as ${rule.outcome}: ${rule.meaning}`, () => {
      for (const [node, text] of examplesOf(rule)) {
        const deciding = broadcastTable.find(({ pattern }) => pattern.test(text));
        assert.equal(deciding?.meaning, rule.meaning, `${node}: ${text}`);
        assert.equal(outcomeFromNodeText(text).kind, rule.outcome);
      }
    });
  }

  it('broadcast table: has examples of every supported node', () => {
    const nodes = new Set(broadcastTable.flatMap(({ examples }) => Object.keys(examples).map((node) => node.replace(/[, ].*/, ''))));
    assert.deepEqual([...nodes].sort(), ['anvil', 'besu', 'erigon', 'geth', 'nethermind', 'reth']);
  });

  it('broadcast table: classifies unknown errors as unknown', () => {
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
      assert.deepEqual(outcome, { kind: 'unknown', sentence: `the node answered "${text}"`, because: 'words' });
    }
  });

  it('broadcast table: classifies any text without throwing', () => {
    const words = broadcastTable.flatMap((rule) => examplesOf(rule).flatMap(([, text]) => text.split(' ')));
    const mixed = fc.array(fc.oneof(fc.constantFrom(...words), fc.string(), fc.string({ unit: 'binary' })), { maxLength: 200 });
    fc.assert(
      fc.property(mixed, (parts) => {
        const { kind } = outcomeFromNodeText(parts.join(' '));
        assert.ok(['known', 'nonce_used', 'underpriced', 'wait', 'unknown'].includes(kind));
      }),
    );
  });
});
