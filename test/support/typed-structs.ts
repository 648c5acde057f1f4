import type { TypedDataField } from 'ethers';
import fc from 'fast-check';

/** A value of typed data. */
export interface Typed {
  readonly type: string;
  /** The structs that the type needs, by name. */
  readonly structs: Readonly<Record<string, TypedDataField[]>>;
  readonly json: string;
  /** As ethers takes it. */
  readonly value: unknown;
}

function bytesOf(length: number) {
  return fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`);
}

function leaf(type: string, value: fc.Arbitrary<unknown>): fc.Arbitrary<Typed> {
  return value.map((one) => ({ type, structs: {}, json: typeof one === 'bigint' ? `"${one}"` : JSON.stringify(one), value: one }));
}

const leaves: fc.Arbitrary<Typed> = fc.oneof(
  leaf('bool', fc.boolean()),
  leaf('string', fc.string({ unit: 'grapheme' })),
  leaf('address', bytesOf(20)),
  leaf('bytes', fc.integer({ min: 0, max: 70 }).chain(bytesOf)),
  fc.integer({ min: 1, max: 32 }).chain((length) => leaf(`bytes${length}`, bytesOf(length))),
  fc.integer({ min: 1, max: 32 }).chain((bytes) => leaf(`uint${8 * bytes}`, fc.bigInt({ min: 0n, max: 2n ** (8n * BigInt(bytes)) - 1n }))),
  fc.integer({ min: 1, max: 32 }).chain((bytes) => {
    const half = 2n ** (8n * BigInt(bytes) - 1n);
    return leaf(`int${8 * bytes}`, fc.bigInt({ min: -half, max: half - 1n }));
  }),
);

let structCount = 0;

/** A struct with a name of its own. */
function structOf(fields: fc.Arbitrary<Typed>): fc.Arbitrary<Typed> {
  return fc.array(fields, { minLength: 1, maxLength: 4 }).map((parts) => {
    structCount += 1;
    const type = `S${structCount}`;
    return {
      type,
      structs: {
        ...Object.assign({}, ...parts.map(({ structs }) => structs)),
        [type]: parts.map((part, at) => ({ name: `f${at}`, type: part.type })),
      },
      json: `{${parts.map(({ json }, at) => `"f${at}":${json}`).join(',')}}`,
      value: Object.fromEntries(parts.map(({ value }, at) => [`f${at}`, value])),
    };
  });
}

/** An array of one value again and again, of fixed length or not. */
function arrayOf(item: fc.Arbitrary<Typed>): fc.Arbitrary<Typed> {
  return fc.tuple(item, fc.integer({ min: 1, max: 3 }), fc.boolean()).map(([one, count, isFixed]) => ({
    type: `${one.type}[${isFixed ? count : ''}]`,
    structs: one.structs,
    json: `[${Array.from({ length: count }, () => one.json).join(',')}]`,
    value: Array.from({ length: count }, () => one.value),
  }));
}

const { part } = fc.letrec<{ part: Typed }>((tie) => ({
  part: fc.oneof({ maxDepth: 3, withCrossShrink: true }, leaves, structOf(tie('part')), arrayOf(tie('part'))),
}));

/** Structs of any nesting: leaves, arrays of arrays and structs, structs of both. */
export const typedStructs = structOf(part);
