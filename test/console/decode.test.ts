import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AbiCoder, FunctionFragment, Interface, type ParamType, Result } from 'ethers';
import fc from 'fast-check';
import { type DecodedValue, decodeCall } from '../../src/console/text/decode.js';
import { knownFunctions } from '../../src/console/text/signatures.js';
import { keccak256 } from '../../src/crypto/keccak.js';

const selectorOf = (signature: string) => Buffer.from(keccak256(Buffer.from(signature)).subarray(0, 4)).toString('hex');
const fragments = Object.entries(knownFunctions).map(([selector, signature]) => ({
  selector,
  signature,
  fragment: FunctionFragment.from(`function ${signature}`),
}));

/** Values of a type, in the form that ethers encodes. */
function valuesOf(type: ParamType): fc.Arbitrary<unknown> {
  if (type.isArray()) {
    const size = type.arrayLength === -1 ? { maxLength: 4 } : { minLength: type.arrayLength, maxLength: type.arrayLength };
    return fc.array(valuesOf(type.arrayChildren), size);
  }
  if (type.isTuple()) return fc.tuple(...type.components.map(valuesOf));
  const hex = (length: number) =>
    fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);
  const [, kind = type.type, size = ''] = /^(uint|int|bytes)(\d+)$/.exec(type.type) ?? [];
  const bits = BigInt(size === '' ? 0 : size);
  const kinds: Readonly<Record<string, () => fc.Arbitrary<unknown>>> = {
    address: () => hex(20),
    bool: () => fc.boolean(),
    string: () => fc.stringMatching(/^[a-zäß€😀 ]{0,80}$/u),
    uint: () => fc.bigInt({ min: 0n, max: 2n ** bits - 1n }),
    int: () => fc.bigInt({ min: -(2n ** (bits - 1n)), max: 2n ** (bits - 1n) - 1n }),
    bytes: () => (size === '' ? fc.nat({ max: 100 }).chain(hex) : hex(Number(size))),
  };
  const arbitrary = kinds[kind];
  assert.ok(arbitrary !== undefined, type.type);
  return arbitrary();
}

/** A decoded value in the form of `valuesOf`, as texts. */
function plain(value: DecodedValue): unknown {
  return value.text ?? value.items.map(plain);
}

const asTexts = (value: unknown): unknown => (Array.isArray(value) ? value.map(asTexts) : String(value));

/** A decoding by ethers as plain texts. */
const resultTexts = (value: unknown): unknown => (value instanceof Result ? value.toArray().map(resultTexts) : String(value).toLowerCase());
const lowerCase = (value: unknown): unknown => (Array.isArray(value) ? value.map(lowerCase) : String(value).toLowerCase());

describe('calls in the console', () => {
  it('selectors: each is the hash of its signature', () => {
    for (const { selector, signature, fragment } of fragments) {
      assert.equal(selectorOf(fragment.format('sighash')), selector, signature);
      assert.ok(
        fragment.inputs.every(({ name }) => name !== ''),
        signature,
      );
    }
    assert.ok(fragments.length >= 60);
  });

  it('decode: each function with any arguments has the values that were encoded', () => {
    for (const { fragment, signature } of fragments) {
      fc.assert(
        fc.property(fc.tuple(...fragment.inputs.map(valuesOf)), fc.nat({ max: 40 }), (values, extra) => {
          const data = new Interface([fragment]).encodeFunctionData(fragment, values) + 'ee'.repeat(extra);
          const decoded = decodeCall(data);
          assert.ok(decoded !== null, data);
          assert.equal(decoded.signature, signature);
          assert.equal(decoded.extraBytes, extra);
          assert.deepEqual(decoded.arguments.map(plain), asTexts(values));
          assert.deepEqual(
            decoded.arguments.map(({ name, type }) => `${type} ${name}`),
            fragment.inputs.map(({ type, name }) => `${type.replaceAll('tuple', '')} ${name}`),
          );
        }),
        { numRuns: 30 },
      );
    }
  });

  it('decode: changed data never throws, and reads as what ethers reads or as nothing', () => {
    const changes = fc.array(fc.tuple(fc.nat(), fc.constantFrom(0, 1, 4, 0x20, 0x40, 0x7f, 0xff)), { maxLength: 3 });
    for (const { fragment } of fragments) {
      fc.assert(
        fc.property(fc.tuple(...fragment.inputs.map(valuesOf)), changes, fc.nat({ max: 70 }), (values, changed, cut) => {
          const bytes = Buffer.from(new Interface([fragment]).encodeFunctionData(fragment, values).slice(2), 'hex');
          for (const [at, byte] of changed) if (bytes.length > 4) bytes[4 + (at % (bytes.length - 4))] = byte;
          const data = bytes.subarray(0, Math.max(4, bytes.length - cut));
          const decoded = decodeCall(`0x${data.toString('hex')}`);
          if (decoded === null) return;
          // Ethers wants the padding that we do not need, and refuses texts that are not UTF-8, which we show with replacement characters.
          const padded = Buffer.concat([data.subarray(4), Buffer.alloc(32)]);
          if (fragment.inputs.some(({ type }) => type === 'string')) return;
          assert.deepEqual(
            lowerCase(decoded.arguments.map(plain)),
            resultTexts(AbiCoder.defaultAbiCoder().decode(fragment.inputs, padded)),
          );
        }),
        { numRuns: 50 },
      );
    }
  });

  it('decode: any bytes and any text are safe', () => {
    const selectors = Object.keys(knownFunctions);
    fc.assert(
      fc.property(fc.constantFrom(...selectors), fc.uint8Array({ maxLength: 600 }), (selector, bytes) => {
        decodeCall(`0x${selector}${Buffer.from(bytes).toString('hex')}`);
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        assert.equal(decodeCall(`${text}!`), null);
      }),
    );
    for (const data of ['', '0x', '0xa9059c', '0xa9059cbb', '0xa9059cbb0', '0xffffffff', 'zz', '0xconstructor'])
      assert.equal(decodeCall(data), null, data);
  });

  it('decode: values that share bytes, and huge lengths, cost no more than the data is long', () => {
    const word = (value: number | bigint) => value.toString(16).padStart(64, '0');
    // A thousand elements of a `bytes[]` that all point at the same bytes.
    const count = 1_000;
    const shared = `0xac9650d8${word(32)}${word(count)}${word(count * 32).repeat(count)}${word(60_000)}${'00'.repeat(60_000)}`;
    assert.equal(decodeCall(shared), null);
    assert.equal(decodeCall(`0xac9650d8${word(32)}${word(2n ** 256n - 1n)}`), null);
    assert.equal(decodeCall(`0xac9650d8${word(32)}${word(2n ** 31n)}`), null);
    assert.equal(decodeCall(`0xac9650d8${word(0)}`), null);
    assert.equal(decodeCall(`0xd0e30db0${'00'.repeat(200_000)}`), null, 'longer than the service accepts');
  });

  it('decode: refuses words that the type cannot have', () => {
    const word = (value: bigint) => value.toString(16).padStart(64, '0');
    assert.notEqual(decodeCall(`0xa9059cbb${word(1n)}${word(1n)}`), null);
    assert.equal(decodeCall(`0xa9059cbb${word(2n ** 160n)}${word(1n)}`), null);
    assert.notEqual(decodeCall(`0xa22cb465${word(1n)}${word(1n)}`), null);
    assert.equal(decodeCall(`0xa22cb465${word(1n)}${word(2n)}`), null);
  });

  it('decode: shows calls within calls', () => {
    const erc20 = new Interface(['function transfer(address,uint256)', 'function multicall(bytes[])']);
    const transfer = erc20.encodeFunctionData('transfer', [`0x${'ab'.repeat(20)}`, 7]);
    const twice = erc20.encodeFunctionData('multicall', [[erc20.encodeFunctionData('multicall', [[transfer]]), '0x1234']]);
    const [first, second] = decodeCall(twice)?.arguments[0]?.items ?? [];
    const inner = first?.call?.arguments[0]?.items[0]?.call;
    assert.equal(inner?.name, 'transfer');
    assert.equal(inner?.arguments[1]?.text, '7');
    assert.equal(second?.text, '0x1234');
    assert.equal(second?.call, null);
  });
});
