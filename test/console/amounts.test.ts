import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { exactAmount, formatUnits, groupDigits, parseUnits, shortAmount, unitsOf } from '../../src/console/text/amounts.js';

const ether = unitsOf('ETH', 18);
const lumens = unitsOf('XLM', 7);
const sol = unitsOf('SOL', 9);
const gap = '\u202f';

describe('amounts of the console', () => {
  it('format and parse: each amount in each unit is exact', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.constantFrom(...ether, ...lumens, ...sol), (amount, unit) => {
        assert.deepEqual(parseUnits(formatUnits(amount, unit.decimals), unit), { amount });
      }),
    );
  });

  it('format: groups digits, and drops zeros at the end of the fraction', () => {
    assert.equal(formatUnits(1_234_567_500_000_000_000_000_000n, 18), `1${gap}234${gap}567.5`);
    assert.equal(formatUnits(-1n, 18), '-0.000000000000000001');
    assert.equal(formatUnits(100n, 0), '100');
    assert.equal(groupDigits(-1000n), `-1${gap}000`);
  });

  it('short: chooses the unit in which the amount is legible, and has the exact one in the title', () => {
    assert.deepEqual(shortAmount(1_234_567_890_123_456_789n, ether), {
      text: '1.23456 ETH',
      title: `1.234567890123456789 ETH (1${gap}234${gap}567${gap}890${gap}123${gap}456${gap}789 wei)`,
    });
    assert.equal(shortAmount(0n, ether).text, '0 ETH');
    assert.equal(shortAmount(1n, ether).text, '1 wei');
    assert.equal(shortAmount(1_500_000_000n, ether).text, '1.5 gwei');
    assert.equal(shortAmount(100n, lumens).text, '100 stroops');
    assert.equal(shortAmount(12_345_678_901n, lumens).text, `1${gap}234.56 XLM`);
    assert.equal(shortAmount(-2_000_000_000n, sol).text, '-2 SOL');
    assert.equal(shortAmount(5n, unitsOf('X', 2)).title, '0.05 X');
    assert.equal(exactAmount(12_345_678_901n, 'USDC', 7), `1${gap}234.5678901 USDC`);
  });

  it('short: never shows more than the amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 128n }), fc.constantFrom(ether, lumens, sol), (amount, units) => {
        const [number = '', name] = shortAmount(amount, units).text.split(' ');
        const unit = units.find((candidate) => candidate.name === name);
        assert.ok(unit !== undefined);
        const shown = parseUnits(number, unit);
        assert.ok('amount' in shown && shown.amount <= amount && (amount - shown.amount) * 10_000n <= amount, number);
      }),
    );
  });

  it('parse: refuses what is no exact amount, and says why', () => {
    const problem = (text: string, unit = ether[2]) => {
      assert.ok(unit !== undefined);
      const parsed = parseUnits(text, unit);
      return 'problem' in parsed ? parsed.problem : parsed.amount;
    };
    assert.equal(problem('1.5'), 1_500_000_000_000_000_000n);
    assert.equal(problem('.5'), 500_000_000_000_000_000n);
    assert.equal(problem(' 1 000_000. '), 10n ** 24n);
    assert.equal(problem(''), 'enter an amount');
    assert.equal(problem('1,5'), 'write the decimal sign as a point, and separate thousands by spaces');
    for (const text of ['-1', '+1', '1e3', '0x1', '.', '1.2.3', 'one'])
      assert.equal(problem(text), 'an amount in ETH has only digits and a point', text);
    assert.equal(problem('0.0000000000000000001'), 'ETH has at most 18 decimals');
    assert.equal(problem('0.5', ether[0]), 'wei has no decimals');
    assert.equal(problem('x', ether[0]), 'an amount in wei has only digits');
    assert.equal(problem('9'.repeat(79)), 'the amount has more than 78 digits');
  });
});
