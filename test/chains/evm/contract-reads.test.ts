import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AbiCoder, id } from 'ethers';
import fc from 'fast-check';
import { callDataOf } from '../../../src/chains/evm/call-data.js';
import { contractCalls, errorDecoder } from '../../../src/chains/evm/contract-reads.js';
import { abiShapes, valuesOf } from '../../support/abi-shapes.js';
import { runs } from '../../support/runs.js';

const contract = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

describe('contract reads', () => {
  it('read: what ethers encoded is decoded, and what is decoded encodes to the same bytes', () => {
    const results = fc
      .array(abiShapes, { minLength: 1, maxLength: 4 })
      .chain((shapes) => fc.tuple(fc.constant(shapes), valuesOf(shapes, 'r'), fc.boolean()));
    fc.assert(
      fc.property(results, ([shapes, { value }, hasNames]) => {
        const types = shapes.map(({ type }) => type);
        const data = AbiCoder.defaultAbiCoder().encode(types, value as unknown[]);
        const returns = types.map((type, index) => (hasNames ? `${type} r${index}` : type)).join(', ');
        const read = contractCalls.prepare({ to: contract, call: { function: `f() returns (${returns})`, args: '' } }, '');
        const { resultJson, data: raw, error } = read.decode({ resultJson: JSON.stringify(data) });
        assert.deepEqual([raw, error], [data, null]);
        const args = types.length === 1 ? `[${resultJson}]` : (resultJson ?? '');
        assert.equal(`0x${callDataOf({ function: `f(${returns})`, args }, 128 * 1024).data.slice(10)}`, data);
      }),
      { numRuns: runs(500) },
    );
  });
});

it('the errors of a long ABI are read up to a limit, and its functions do not count', () => {
  const functions = Array.from({ length: 3_000 }, (_, index) => `function f${index}()`);
  const errors = Array.from({ length: 1_100 }, (_, index) => `error E${index}()`);
  const reasonOf = (name: string, abi: readonly string[]) => errorDecoder(JSON.stringify(abi))(id(`${name}()`).slice(0, 10));
  assert.equal(reasonOf('Last', [...functions, 'error Last()']), 'Last()');
  assert.equal(reasonOf('E1000', errors), 'E1000()');
  assert.equal(reasonOf('E1099', errors), null);
});
