import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AbiCoder, FunctionFragment, Interface, ParamType } from 'ethers';
import fc from 'fast-check';
import { callDataOf } from '../../../src/chains/evm/call-data.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { EvmCall } from '../../../src/core/records/evm.js';
import { abiShapes, valuesOf } from '../../support/abi-shapes.js';
import { hostileCalls } from '../../support/hostile-calls.js';
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

describe('call data', () => {
  it('call: encodes as ethers does, for any signature and any values, in any of the accepted forms', () => {
    const calls = fc.array(abiShapes, { maxLength: 4 }).chain((shapes) => fc.tuple(fc.constant(shapes), valuesOf(shapes, 'p')));
    fc.assert(
      fc.property(calls, ([shapes, { text: args, value }]) => {
        const signature = `f(${shapes.map(({ type }, index) => `${type} p${index}`).join(', ')})`;
        const { data, call } = callDataOf({ function: signature, args }, maxDataBytes);
        const coder = new Interface([`function ${signature}`]);
        assert.equal(data, coder.encodeFunctionData('f', value as unknown[]));
        // What the record shows means the same.
        assert.equal(callDataOf({ function: call.function, args: call.args }, maxDataBytes).data, data);
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

  it('call: an ABI must be a list of objects or texts, down to the parameters', () => {
    for (const [abi, field, description] of [
      [5, 'call.abi', /must be /],
      [[5], 'call.abi[0]', /must be /],
      [[null], 'call.abi[0]', /must be /],
      [[{ type: 'function', name: 'g', inputs: 5 }], 'call.abi[0].inputs', /^must be an array$/],
      [[{ type: 'function', name: 'g', inputs: [null] }], 'call.abi[0].inputs[0]', /^must be an object$/],
      [[{ type: 'function', name: 'g', inputs: ['uint256'] }], 'call.abi[0].inputs[0]', /^must be an object$/],
      [[{ type: 'function', name: 'g', inputs: [{ type: 5 }] }], 'call.abi[0].inputs[0].type', /^must be the name of a type$/],
    ] as const) {
      const [first] = problemsOf(() => encoded('g', [1], abi));
      assert.equal(first?.field, field, JSON.stringify(abi));
      assert.match(first?.description ?? '', description);
    }
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

  it('call: hostile input is refused within 50 ms', () => {
    for (const { name, call, field } of hostileCalls) {
      const { result, ms } = quickest(() => problemsOf(() => callDataOf(call, maxDataBytes)));
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
