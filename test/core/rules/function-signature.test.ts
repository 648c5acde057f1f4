import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AbiCoder, FunctionFragment } from 'ethers';
import fc from 'fast-check';
import { isWordType, readSignature } from '../../../src/core/rules/function-signature.js';
import { abiShapes } from '../../support/abi-shapes.js';
import { runs } from '../../support/runs.js';

describe('signatures of functions', () => {
  it('random ones are read as ethers reads them, and say where the words of arguments are', () => {
    fc.assert(
      fc.property(
        fc
          .array(abiShapes, { maxLength: 6 })
          .chain((shapes) => fc.tuple(fc.constant(shapes), fc.tuple(...shapes.map(({ values }) => values)), fc.boolean(), fc.boolean())),
        ([shapes, values, isNamed, hasWord]) => {
          const types = shapes.map(({ type }, index) => (isNamed ? `${type} p${index}` : type));
          const text = `${hasWord ? 'function ' : ''}send(${types.join(', ')})`;
          const read = readSignature(text);
          assert.ok(typeof read !== 'string', `${text}: ${String(read)}`);
          assert.equal(read.canonical, FunctionFragment.from(`send(${types.join(',')})`).format('sighash'));
          const coder = AbiCoder.defaultAbiCoder();
          const encoded = coder.encode(
            shapes.map(({ type }) => type),
            values.map(({ value }) => value),
          );
          assert.ok(encoded.length - 2 >= read.words * 64, 'arguments have at least so many words');
          read.parameters.forEach(({ name, type, word }, index) => {
            assert.equal(name, isNamed ? `p${index}` : null);
            if (isWordType(type))
              assert.equal(`0x${encoded.slice(2 + word * 64, 66 + word * 64)}`, coder.encode([type], [values[index]?.value]));
          });
        },
      ),
      { numRuns: runs(1_000) },
    );
  });

  for (const [text, canonical] of [
    ['transfer(address to,uint amount)', 'transfer(address,uint256)'],
    [' function pay ( ) ', 'pay()'],
    ['f((uint a, (bool, string)[] b)[3] c, int[2][])', 'f((uint256,(bool,string)[])[3],int256[2][])'],
    ['f(tuple(uint8 a) memory x)', 'f((uint8))'],
  ] as const)
    it(`${JSON.stringify(text)} is ${canonical}`, () => {
      const read = readSignature(text);
      assert.equal(typeof read === 'string' ? read : read.canonical, canonical);
    });

  for (const text of [
    '',
    'transfer',
    'transfer(address to',
    'transfer(address to))',
    'transfer(address to)(uint256)',
    '1f()',
    'f(,)',
    'f(address,)',
    'f(uint7)',
    'f(uint264)',
    // They look like sizes, and are none: a rule that denies such a function would deny nothing.
    'f(uint100)',
    'f(int110)',
    'f(uint255)',
    'f(bytes33)',
    'f(addres to)',
    'f(address to from)',
    'f(address a, address a)',
    'f(())',
    'f(uint256[0])',
    'f(uint256[01])',
    'f(uint256[9999])',
    `f(${'('.repeat(9)}uint8${')'.repeat(9)})`,
    `f(${'uint256,'.repeat(200)}uint256)`,
    'f(mapping(address=>uint256) m)',
  ])
    it(`${JSON.stringify(text.slice(0, 40))} is refused with a sentence`, () => {
      assert.match(String(readSignature(text)), /^(?:must|has|nests) /);
    });
});
