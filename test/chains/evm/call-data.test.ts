import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AbiCoder, FunctionFragment, Interface, ParamType } from 'ethers';
import fc from 'fast-check';
import { callDataOf } from '../../../src/chains/evm/call-data.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { EvmCall } from '../../../src/core/records/evm.js';
import { runs } from '../../support/runs.js';

const maxDataBytes = 130_560;
const account = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

function encoded(signature: string, args: unknown, abi?: unknown): { data: string; call: EvmCall } {
  const abiText = abi === undefined ? undefined : JSON.stringify(abi);
  return callDataOf({ function: signature, args: typeof args === 'string' ? args : JSON.stringify(args), abi: abiText }, maxDataBytes);
}

function problemsOf(call: () => unknown): readonly { field: string; description: string }[] {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof DomainError, String(error));
    assert.equal(error.kind, 'invalid');
    return error.fields;
  }
  assert.fail('it was accepted');
}

/** The result, and the least processor time of some runs: other processes disturb single ones. */
function quickest<T>(run: () => T): { result: T; ms: number } {
  let result = run();
  let least = Number.POSITIVE_INFINITY;
  for (let count = 0; count < 5; count += 1) {
    const before = process.cpuUsage();
    result = run();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return { result, ms: least };
}

/** A leaf type with a value as JSON, and the same value for ethers. */
const leaves: fc.Arbitrary<{ type: string; json: fc.Arbitrary<{ text: string; value: unknown }> }> = fc.oneof(
  fc.constant({ type: 'bool', json: fc.boolean().map((value) => ({ text: String(value), value })) }),
  fc.constant({ type: 'string', json: fc.string({ unit: 'grapheme' }).map((value) => ({ text: JSON.stringify(value), value })) }),
  fc.constant({ type: 'address', json: bytesOf(20) }),
  fc.constant({ type: 'bytes', json: fc.integer({ min: 0, max: 70 }).chain(bytesOf) }),
  fc.integer({ min: 1, max: 32 }).map((length) => ({ type: `bytes${length}`, json: bytesOf(length) })),
  fc.tuple(fc.integer({ min: 1, max: 32 }), fc.boolean()).map(([bytes, isSigned]) => {
    const bits = BigInt(bytes) * 8n;
    const [min, max] = isSigned ? [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n] : [0n, 2n ** bits - 1n];
    const json = fc
      .tuple(fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, max)), fc.constantFrom('token', 'string', 'hex'))
      .map(([value, form]) => ({ text: integerText(value, form), value }));
    return { type: `${isSigned ? '' : 'u'}int${bits}`, json };
  }),
);

function bytesOf(length: number) {
  return fc.uint8Array({ minLength: length, maxLength: length }).map((bytes) => {
    const value = `0x${Buffer.from(bytes).toString('hex')}`;
    return { text: JSON.stringify(value), value };
  });
}

function integerText(value: bigint, form: string): string {
  if (form === 'token') return String(value);
  return form === 'hex' && value >= 0n ? `"0x${value.toString(16)}"` : `"${value}"`;
}

/** A type of any nesting, with one value of it. */
function typed(depth: number): fc.Arbitrary<{ type: string; text: string; value: unknown }> {
  const leaf = leaves.chain(({ type, json }) => json.map((one) => ({ type, ...one })));
  if (depth === 0) return leaf;
  const array = leaves.chain(({ type, json }) =>
    fc.tuple(fc.array(json, { minLength: 1, maxLength: 4 }), fc.boolean()).map(([items, isFixed]) => ({
      type: `${type}[${isFixed ? items.length : ''}]`,
      text: `[${items.map(({ text }) => text).join(',')}]`,
      value: items.map(({ value }) => value),
    })),
  );
  const struct = fc
    .tuple(fc.array(typed(depth - 1), { minLength: 1, maxLength: 3 }), fc.boolean(), fc.integer({ min: 0, max: 2 }))
    .map(([fields, isObject, copies]) => {
      const members = fields.map(({ text }, index) => (isObject ? `"f${index}":${text}` : text));
      const text = isObject ? `{${members.join(',')}}` : `[${members.join(',')}]`;
      const value = fields.map((field) => field.value);
      const tuple = `tuple(${fields.map(({ type }, index) => `${type} f${index}`).join(', ')})`;
      if (copies === 0) return { type: tuple, text, value };
      const times = Array.from({ length: copies });
      return { type: `${tuple}[]`, text: `[${times.map(() => text).join(',')}]`, value: times.map(() => value) };
    });
  return fc.oneof(leaf, array, struct);
}

describe('call data', () => {
  it('call: encodes as ethers does, for any signature and any values, in any of the accepted forms', () => {
    fc.assert(
      fc.property(fc.array(typed(2), { maxLength: 4 }), fc.boolean(), (values, isObject) => {
        const parameters = values.map(({ type }, index) => `${type} p${index}`);
        const signature = `f(${parameters.join(', ')})`;
        const members = values.map(({ text }, index) => (isObject ? `"p${index}":${text}` : text));
        const args = isObject ? `{${members.join(',')}}` : `[${members.join(',')}]`;
        const { data, call } = callDataOf({ function: signature, args }, maxDataBytes);
        const coder = new Interface([`function ${signature}`]);
        assert.equal(
          data,
          coder.encodeFunctionData(
            'f',
            values.map(({ value }) => value),
          ),
        );
        // What the record shows means the same.
        assert.equal(callDataOf({ function: call.function, args: call.args }, maxDataBytes).data, data);
        assert.deepEqual(AbiCoder.defaultAbiCoder().decode(parameters, `0x${data.slice(10)}`).length, values.length);
      }),
      { numRuns: runs(500) },
    );
  });

  it('call: the record has the signature and the arguments in the shape that the caller used', () => {
    const { data, call } = encoded('function transfer(address to, uint256 amount) returns (bool)', {
      amount: 5,
      to: account.toLowerCase(),
    });
    assert.equal(data, new Interface(['function transfer(address,uint256)']).encodeFunctionData('transfer', [account, 5n]));
    assert.deepEqual(call, { function: 'transfer(address to, uint256 amount)', args: `{"to":"${account}","amount":"5"}` });
    assert.equal(
      encoded('f(uint256)', '[1000000000000000000000000000000000000001]').call.args,
      '["1000000000000000000000000000000000000001"]',
    );
    assert.equal(encoded('f(uint256)', '[1e21]').call.args, '["1000000000000000000000"]');
    assert.equal(encoded('f(int8)', '[-0]').call.args, '["0"]');
    assert.equal(encoded('f()', '').data, FunctionFragment.from('f()').selector);
    assert.equal(encoded('f()', 'null').data, FunctionFragment.from('f()').selector);
  });

  it('call: a name alone needs an ABI that has it once; a signature chooses among overloads', () => {
    const json = JSON.parse(
      new Interface(['function put(uint256 id, tuple(address who, uint8 mode)[] items)', 'event put(uint256 id)']).formatJson(),
    );
    const items = [{ who: account, mode: 2 }];
    assert.equal(encoded('put', { id: 1, items }, json).call.function, 'put(uint256 id, (address who, uint8 mode)[] items)');
    assert.equal(encoded('put', [1, [[account, 2]]], json).data, encoded('put', { id: 1, items }, json).data);
    const lines = ['event x(uint256)', 'function g(uint256 a)', 'function g(address b)', 'struct Foo { uint256 a; }'];
    assert.equal(encoded('g(address)', { b: account }, lines).call.function, 'g(address b)');
    assert.deepEqual(
      problemsOf(() => encoded('g', [1], lines)),
      [{ field: 'call.function', description: 'is a name that abi has 2 times; use a signature: g(uint256) or g(address)' }],
    );
    assert.deepEqual(
      problemsOf(() => encoded('h', [1], lines)),
      [{ field: 'call.function', description: 'is h, which is not a function in abi' }],
    );
    assert.match(
      problemsOf(() => encoded('g', [1]))[0]?.description ?? '',
      /is the name g alone; give a signature such as g\(uint256\), or abi/,
    );
  });

  const mistakes: readonly [args: unknown, field: string, words: RegExp, signature?: string][] = [
    [[account], 'call.args', /must have 2 values: address to, \(uint8 mode, uint64 deadline\) order; it has 1/],
    [[account, { mode: 1 }], 'call.args[1].deadline', /is required, a uint64/],
    [[account, { mode: 1, deadline: 'soon' }], 'call.args[1].deadline', /must be a uint64, an integer from 0 to 2\^64-1; it is "soon"/],
    [{ to: account, order: { mode: 256, deadline: 1 } }, 'call.args.order.mode', /must be a uint8, an integer from 0 to 255; it is 256/],
    [[account, [1, 1.5]], 'call.args[1][1]', /it is 1\.5/],
    [[account, [-1, 1]], 'call.args[1][0]', /it is -1/],
    [[account, { mode: 1, deadline: 2, extra: 3 }], 'call.args[1].extra', /is not a name of a value here: uint8 mode, uint64 deadline/],
    [['vitalik.eth', [1, 1]], 'call.args[0]', /must be an address; ENS names are not resolved/],
    [[account.replace('C', 'c'), [1, 1]], 'call.args[0]', /is an address and has an invalid EIP-55 checksum/],
    [[account.slice(0, 41), [1, 1]], 'call.args[0]', /must be 0x and 40 hex digits/],
    [[null, [1, 1]], 'call.args[0]', /must be an address: 0x and hex digits in a string; it is null/],
    ['[', 'call.args', /is not JSON/],
    ['5', 'call.args', /must be an array or an object; it is 5/],
    [['0x123'], 'call.args[0]', /must be a bytes: 0x and an even number of hex digits; it is "0x123"/, 'f(bytes)'],
    [['0x12'], 'call.args[0]', /must be a bytes4: 0x and 8 hex digits/, 'f(bytes4)'],
    [['true'], 'call.args[0]', /must be a bool: true or false; it is "true"/, 'f(bool)'],
    [[5], 'call.args[0]', /must be a string; it is 5/, 'f(string)'],
    ['["\\ud800"]', 'call.args[0]', /well-formed Unicode/, 'f(string)'],
    [[[1, 2, 3]], 'call.args[0]', /must have 2 items; it has 3/, 'f(uint256[2])'],
    [[5], 'call.args[0]', /must be an array of uint256; it is 5/, 'f(uint256[])'],
    [['1e999999999'], 'call.args[0]', /must be a uint256/, 'f(uint256)'],
    ['[1e999999999]', 'call.args[0]', /must be a uint256/, 'f(uint256)'],
    [[''], 'call.args[0]', /must be an int256/, 'f(int256)'],
    [{ a: 1 }, 'call.args', /must be an array, because not all of its values have a name of their own/, 'f(uint256 a, uint256)'],
    [[1], 'call.function', /cannot be read as a signature|is not a type of the ABI/, 'f(fixed128x18)'],
    [[1], 'call.function', /cannot be read as a signature|is not a type of the ABI/, 'f(uint7)'],
    [[[]], 'call.function', /an array without items/, 'f(uint256[0])'],
    [[[]], 'call.function', /whose values have more than 4096 words/, 'f(uint256[4294967295])'],
    [[[]], 'call.function', /whose values have more than 4096 words/, 'f(uint256[64][65][2])'],
    [[[]], 'call.function', /a struct without fields/, 'f(tuple() a)'],
    [[], 'call.function', /nests types more than 16 deep/, `f(${'tuple('.repeat(40)}uint256${')'.repeat(40)})`],
    [[], 'call.function', /parentheses that do not match/, 'f(uint256'],
    [[], 'call.function', /parentheses that do not match/, 'f)('],
    [[], 'call.function', /has more than 256 parameters/, `f(${'bool,'.repeat(300)}bool)`],
    [[], 'call.function', /at most 2048 characters/, `f(${'uint256,'.repeat(3000)}bool)`],
    [[], 'call.function', /may have only letters/, 'f(uint256)\u0000'],
    [[], 'call.function', /may have only letters/, 'f("; drop table")'],
    [[], 'call.function', /cannot be read/, 'f(uint256) g(uint256)'],
    [[], 'call.function', /cannot be read/, 'f(,,,)'],
    [[], 'call.function', /is required/, ' '],
  ];

  it('call: each mistake is named by its path, with the type and what came', () => {
    for (const [args, field, words, signature = 'f(address to, tuple(uint8 mode, uint64 deadline) order)'] of mistakes) {
      const [first] = problemsOf(() => encoded(signature, args));
      assert.deepEqual(first?.field, field, `${signature} ${JSON.stringify(args)} ${JSON.stringify(first)}`);
      assert.match(first?.description ?? '', words);
    }
  });

  it('call: all mistakes are named at once', () => {
    const fields = problemsOf(() => encoded('f(address to, uint8[] modes)', ['x.eth', [1, 256, 'a']])).map(({ field }) => field);
    assert.deepEqual(fields, ['call.args[0]', 'call.args[1][1]', 'call.args[1][2]']);
  });

  const recursive: Record<string, unknown> = { type: 'tuple', name: 'a', components: [] };
  for (let depth = 0, inner = recursive; depth < 20; depth += 1) {
    const next = { type: 'tuple', name: 'a', components: [] };
    inner.components = [next];
    inner = next;
  }
  const parameter = { type: 'uint256', name: 'a' };
  const hostile: readonly [name: string, signature: string, args: unknown, abi: unknown, field: RegExp][] = [
    ['10,000 integers', 'f(uint256[])', [Array.from({ length: 10_000 }, () => 1)], undefined, /^call\.args$/],
    ['130,000 values', 'f(uint256[])', `[[${'1,'.repeat(130_000)}1]]`, undefined, /^call\.args$/],
    ['empty arrays in arrays', 'f(uint256[][])', `[[${'[],'.repeat(80_000)}[]]]`, undefined, /^call\.args$/],
    ['a long string', 'f(string)', [`${'x'.repeat(200_000)}`], undefined, /^call\.args$/],
    ['long arguments', 'f(string)', [`${'x'.repeat(300_000)}`], undefined, /^call\.args$/],
    ['10,000 wrong items', 'f(uint8[])', [Array.from({ length: 10_000 }, () => 'x')], undefined, /^call\.args\[0\]\[0\]$/],
    ['a recursive ABI', 'f', [], [{ type: 'function', name: 'f', inputs: [recursive] }], /^call\.abi\[0\]\.inputs/],
    ['an ABI of 1 MiB', 'f', [], [{ type: 'function', name: 'f', inputs: Array.from({ length: 26_000 }, () => parameter) }], /^call\.abi$/],
    [
      '10,000 parameters',
      'f',
      [],
      [{ name: 'f', inputs: Array.from({ length: 8_000 }, () => ({ type: 'int8' })) }],
      /^call\.abi\[0\]\.inputs$/,
    ],
    ['5,000 overloads', 'f', [], Array.from({ length: 5_000 }, () => 'function f(uint256 a, bool b)'), /^call\.abi\[\d+\]$/],
    [
      'a fragment of ethers',
      'f',
      [],
      [{ _ethers_internal: '_FunctionInternal', type: 'function', name: 'f', inputs: 5 }],
      /^call\.abi\[0\]\.inputs$/,
    ],
    ['a parameter of ethers', 'f', [1], [{ name: 'f', inputs: [{ _ethers_internal: '_ParamInternal', type: 'x' }] }], /^call\.abi\[0\]$/],
    ['prototypes', 'f', '{"__proto__":1}', [{ name: 'f', inputs: [{ type: 'uint8', name: 'a' }] }], /^call\.args\.__proto__$/],
    ['an ABI that is no array', 'f', [], { abi: [] }, /^call\.abi$/],
    ['many brackets', `f(uint8${'[2]'.repeat(600)})`, [], undefined, /^call\.function$/],
    ['open parentheses', `f${'('.repeat(2000)}`, [], undefined, /^call\.function$/],
  ];

  it('call: hostile input is refused within 50 ms', () => {
    for (const [name, signature, args, abi, field] of hostile) {
      const text = typeof args === 'string' ? args : JSON.stringify(args);
      const abiText = abi === undefined ? undefined : JSON.stringify(abi);
      const { result, ms } = quickest(() => problemsOf(() => callDataOf({ function: signature, args: text, abi: abiText }, maxDataBytes)));
      const [first] = result;
      assert.match(first?.field ?? '', field, `${name}: ${JSON.stringify(first)}`);
      assert.ok(ms < 50, `${name} took ${ms} ms`);
    }
  });

  it('call: checking the largest call costs less than ethers needs to encode it', () => {
    const items = Array.from({ length: 4070 }, (_, index) => index);
    const text = JSON.stringify([items]);
    const { result, ms } = quickest(() => callDataOf({ function: 'f(uint256[] a)', args: text }, maxDataBytes));
    assert.ok(result.data.length > 260_000);
    const coder = AbiCoder.defaultAbiCoder();
    const own = quickest(() => coder.encode(['uint256[]'], [items.map(BigInt)]));
    assert.ok(ms < 3 * own.ms + 10, `took ${ms} ms, ethers alone ${own.ms} ms`);
  });

  it('call: random texts as signatures are read or refused, and nothing else', () => {
    const parts = fc.constantFrom(
      'f',
      '(',
      ')',
      ',',
      ' ',
      '[',
      ']',
      'uint256',
      'tuple',
      'address',
      'returns',
      'function',
      '3',
      '_',
      'view',
      '$',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(parts).map((texts) => texts.join('')),
        ),
        (text) => {
          try {
            encoded(text, []);
          } catch (error) {
            assert.ok(error instanceof DomainError && error.kind === 'invalid', String(error));
          }
        },
      ),
      { numRuns: runs(2000) },
    );
    assert.ok(ParamType.from('uint256'));
  });
});
