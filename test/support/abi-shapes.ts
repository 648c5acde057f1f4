import fc from 'fast-check';

/** A value as the text that a caller writes in JSON, and the same value for ethers. */
export interface AbiValue {
  readonly text: string;
  readonly value: unknown;
}

/** A type of the ABI, and its values. */
export interface AbiShape {
  readonly type: string;
  readonly values: fc.Arbitrary<AbiValue>;
}

const leaves: fc.Arbitrary<AbiShape> = fc.oneof(
  fc.constant({ type: 'bool', values: fc.boolean().map((value) => ({ text: String(value), value })) }),
  fc.constant({ type: 'string', values: fc.string({ unit: 'grapheme' }).map((value) => ({ text: JSON.stringify(value), value })) }),
  fc.constant({ type: 'address', values: bytesOf(20) }),
  fc.constant({ type: 'bytes', values: fc.integer({ min: 0, max: 70 }).chain(bytesOf) }),
  fc.integer({ min: 1, max: 32 }).map((length) => ({ type: `bytes${length}`, values: bytesOf(length) })),
  fc.tuple(fc.integer({ min: 1, max: 32 }), fc.boolean()).map(([bytes, isSigned]) => {
    const bits = BigInt(bytes) * 8n;
    const [min, max] = isSigned ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n] : [0n, 2n ** bits - 1n];
    const values = fc
      .tuple(fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, max)), fc.constantFrom('token', 'string', 'hex'))
      .map(([value, form]) => ({ text: integerText(value, form), value }));
    return { type: `${isSigned ? '' : 'u'}int${bits}`, values };
  }),
);

function bytesOf(length: number): fc.Arbitrary<AbiValue> {
  return fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => {
    const value = `0x${Buffer.from(bytes).toString('hex')}`;
    return { text: JSON.stringify(value), value };
  });
}

function integerText(value: bigint, form: string): string {
  if (form === 'token') return String(value);
  return form === 'hex' && value >= 0n ? `"0x${value.toString(16)}"` : `"${value}"`;
}

/** An array of any items, of fixed length or not. */
function arrayOf(item: fc.Arbitrary<AbiShape>): fc.Arbitrary<AbiShape> {
  return fc.tuple(item, fc.integer({ min: 1, max: 3 }), fc.boolean()).map(([{ type, values }, length, isFixed]) => ({
    type: `${type}[${isFixed ? length : ''}]`,
    values: fc.array(values, { minLength: isFixed ? length : 0, maxLength: length }).map((items) => ({
      text: `[${items.map(({ text }) => text).join(',')}]`,
      value: items.map(({ value }) => value),
    })),
  }));
}

/** A struct, whose values are written as arrays or as objects. */
function structOf(field: fc.Arbitrary<AbiShape>): fc.Arbitrary<AbiShape> {
  return fc.array(field, { minLength: 1, maxLength: 3 }).map((fields) => ({
    type: `tuple(${fields.map(({ type }, index) => `${type} f${index}`).join(', ')})`,
    values: valuesOf(fields, 'f'),
  }));
}

/** Values of several types, in an array or in an object with the names `${prefix}0`, `${prefix}1` and so on. */
export function valuesOf(shapes: readonly AbiShape[], prefix: string): fc.Arbitrary<AbiValue> {
  return fc.tuple(fc.tuple(...shapes.map(({ values }) => values)), fc.boolean()).map(([items, isObject]) => {
    const members = items.map(({ text }, index) => (isObject ? `"${prefix}${index}":${text}` : text)).join(',');
    return { text: isObject ? `{${members}}` : `[${members}]`, value: items.map(({ value }) => value) };
  });
}

/** Types of any nesting: leaves, arrays of arrays and structs, structs of both. */
export const { shape: abiShapes } = fc.letrec<{ shape: AbiShape }>((tie) => ({
  shape: fc.oneof({ maxDepth: 3, withCrossShrink: true }, leaves, arrayOf(tie('shape')), structOf(tie('shape'))),
}));
