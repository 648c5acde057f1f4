import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { outcomeFromNodeError } from '../../../src/chains/solana/broadcast.js';
import { broadcastTable } from '../../../src/chains/solana/broadcast-table.js';

describe('broadcast table', () => {
  for (const { outcome, meaning, pattern, examples } of broadcastTable) {
    for (const { code, text } of examples) {
      it(`${code} "${text}" is ${outcome}: ${meaning}`, () => {
        assert.equal(outcomeFromNodeError({ code, message: text }).kind, outcome);
        const first = broadcastTable.find((rule) => rule.pattern.test(`${code} ${text}`));
        assert.equal(first?.pattern, pattern, 'another rule matches first');
      });
    }
  }

  it('broadcast table: classifies an answer without a rule as unknown', () => {
    assert.deepEqual(outcomeFromNodeError({ code: -32099, message: 'the moon is full' }), {
      kind: 'unknown',
      sentence: 'the node answered "the moon is full"',
    });
  });
});
