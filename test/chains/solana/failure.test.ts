import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failureSentence, transactionErrorFrom } from '../../../src/chains/solana/failure.js';

const program = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

describe('failure', () => {
  it('failure: rejects an endlessly nested value as malformed', () => {
    const error: unknown = JSON.parse(`{"InstructionError":${'['.repeat(20_000)}${']'.repeat(20_000)}}`);
    assert.throws(() => transactionErrorFrom(error), { name: 'MalformedAnswerError' });
  });

  const cases: readonly (readonly [unknown, readonly string[], string])[] = [
    ['BlockhashNotFound', [], 'BlockhashNotFound'],
    [{ InsufficientFundsForRent: { account_index: 2 } }, [], 'InsufficientFundsForRent {"account_index":2}'],
    [{ InstructionError: [0, 'InvalidArgument'] }, [], 'instruction 0 failed with InvalidArgument'],
    [{ InstructionError: [3, { Custom: 6001 }] }, [], 'instruction 3 failed with program error 6001 (0x1771)'],
    [{ InstructionError: [1, { BorshIoError: 'x' }] }, [], 'instruction 1 failed with {"BorshIoError":"x"}'],
    [
      { InstructionError: [0, { Custom: 1 }] },
      [
        `Program ${program} invoke [1]`,
        'Program log: Instruction: Transfer',
        'Program log: Error: insufficient funds',
        `Program ${program} consumed 4500 of 200000 compute units`,
        `Program ${program} failed: custom program error: 0x1`,
      ],
      'instruction 0 failed with program error 1 (0x1): Error: insufficient funds',
    ],
    [
      { InstructionError: [0, { Custom: 1 }] },
      [
        'Program 11111111111111111111111111111111 invoke [1]',
        'Transfer: insufficient lamports 5, need 10',
        'Program 11111111111111111111111111111111 failed: custom program error: 0x1',
      ],
      'instruction 0 failed with program error 1 (0x1): Transfer: insufficient lamports 5, need 10',
    ],
    [{ InstructionError: [0, 'X'] }, ['Program log: fine', `Program ${program} success`], 'instruction 0 failed with X'],
    [7, [], '7'],
    [{ InstructionError: [] }, [], 'instruction ? failed with null'],
    [{ InstructionError: [{ toString: 1, valueOf: 1 }, 'X'] }, [], 'instruction ? failed with X'],
  ];
  for (const [error, logs, sentence] of cases) {
    it(`is described as: ${sentence}`, () => {
      const read = transactionErrorFrom(error);
      assert.ok(read !== null);
      assert.equal(failureSentence(read, logs), sentence);
    });
  }

  it('failure: is null if there is no failure', () => {
    assert.deepEqual([transactionErrorFrom(null), transactionErrorFrom(undefined)], [null, null]);
  });

  it('failure: shortens hostile text and removes misleading characters', () => {
    const hostile = `\u001b[2J${'x'.repeat(100_000)}`;
    const sentences = [
      failureSentence({ [hostile]: hostile }, []),
      failureSentence({ InstructionError: [hostile, hostile] }, []),
      failureSentence('A', [`Program log: ${hostile}`, `Program ${program} failed: x`]),
      failureSentence(transactionErrorFrom([hostile]) ?? '', []),
    ];
    for (const sentence of sentences) {
      assert.ok(Buffer.byteLength(sentence) < 2_200, String(sentence.length));
      assert.ok(!sentence.includes('\u001b'));
    }
  });
});
