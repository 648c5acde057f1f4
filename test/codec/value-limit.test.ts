import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type DescMessage, fromBinary } from '@bufbuild/protobuf';
import { ListTransactionsRequestSchema, SendTransactionRequestSchema } from '../../gen/relayer/v1/transaction_service_pb.js';
import { hasTooManyValues, maxValues } from '../../src/codec/value-limit.js';
import { requestMessages } from '../support/random-json.js';
import { createRandom } from '../support/seeded-random.js';

const manyItems = 30_000;
const [group, fixed32, delimited] = [3, 5, 2];

/** A field of a message: its number, the wire type of its tag, and its content with a length. */
function field(number: number, wireType: number, content: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = content.byteLength; ; rest >>>= 7) {
    length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
    if (rest <= 0x7f) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | wireType, ...length]), content]);
}

function repeated(item: readonly number[]): Buffer {
  return Buffer.concat(Array<Buffer>(manyItems).fill(Buffer.from(item)));
}

/** The items of all lists that the protobuf library makes of a message, unknown fields included. */
function itemsIn(value: unknown): number {
  if (value instanceof Uint8Array || typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, part) => sum + itemsIn(part), Array.isArray(value) ? value.length : 0);
}

describe('the limit of values in a protobuf message', () => {
  const [stellar, operations, status] = [3, 3, 4];
  for (const [what, desc, bytes] of [
    ['a list', SendTransactionRequestSchema, field(stellar, delimited, repeated([(operations << 3) | delimited, 0]))],
    [
      'a list in a message whose tag says group',
      SendTransactionRequestSchema,
      field(stellar, group, repeated([(operations << 3) | delimited, 0])),
    ],
    ['items whose tags say group', SendTransactionRequestSchema, field(stellar, delimited, repeated([(operations << 3) | group, 0]))],
    ['items whose tags say fixed32', SendTransactionRequestSchema, field(stellar, delimited, repeated([(operations << 3) | fixed32, 0]))],
    ['packed enums', ListTransactionsRequestSchema, field(status, delimited, Buffer.alloc(manyItems, 1))],
    ['enums whose tags say group', ListTransactionsRequestSchema, repeated([(status << 3) | group, 1])],
    [
      'a list behind packed enums of which the last one is longer than the list',
      ListTransactionsRequestSchema,
      // The library reads on from inside the unknown field that would hide the rest.
      Buffer.concat([field(status, delimited, Buffer.from([0x80])), Buffer.from([0x7a]), repeated([status << 3, 1])]),
    ],
  ] as const satisfies readonly (readonly [string, DescMessage, Buffer])[]) {
    it(`values: counts ${what} as the library reads them`, () => {
      assert.ok(itemsIn(fromBinary(desc, bytes)) > maxValues);
      assert.ok(hasTooManyValues(desc, bytes));
    });
  }

  it('values: every request can be counted, since none has a map', () => {
    for (const desc of requestMessages) assert.equal(hasTooManyValues(desc, Buffer.alloc(maxValues + 1)), false);
  });

  it('values: of random bytes the library never reads more than the limit counts', () => {
    const random = createRandom(17);
    let read = 0;
    for (let round = 0; round < 300; round += 1) {
      const unit = Buffer.from(Array.from({ length: 2 + Math.floor(random.next() * 5) }, () => Math.floor(random.next() * 256)));
      const bytes = field(stellar, random.next() < 0.5 ? delimited : group, Buffer.concat(Array<Buffer>(manyItems).fill(unit)));
      try {
        if (itemsIn(fromBinary(SendTransactionRequestSchema, bytes)) <= maxValues) continue;
      } catch {
        continue;
      }
      read += 1;
      assert.ok(hasTooManyValues(SendTransactionRequestSchema, bytes), unit.toString('hex'));
    }
    assert.ok(read > 0);
  });
});
