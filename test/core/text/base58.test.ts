import assert from 'node:assert/strict';
import { it } from 'node:test';
import { getBase58Decoder } from '@solana/kit';
import fc from 'fast-check';
import { bytesFromBase58 } from '../../../src/core/text/base58.js';

const base58Of = (bytes: Uint8Array) => getBase58Decoder().decode(bytes);
const withZeros = fc
  .tuple(fc.nat({ max: 32 }), fc.uint8Array({ maxLength: 64 }))
  .map(([zeros, bytes]) => Uint8Array.from([...new Uint8Array(zeros), ...bytes]));

it('bytesFromBase58: decodes what a library encoded, zeros at the start included', () => {
  fc.assert(fc.property(withZeros, (bytes) => assert.deepEqual(bytesFromBase58(base58Of(bytes), bytes.length), bytes)));
});

it('bytesFromBase58: rejects another number of bytes, and characters that are no digits', () => {
  fc.assert(
    fc.property(withZeros, fc.nat({ max: 96 }), (bytes, length) => {
      if (length !== bytes.length) assert.equal(bytesFromBase58(base58Of(bytes), length), null);
    }),
  );
  for (const text of ['0', 'O', 'I', 'l', ' 2', '2\n', '2é', '2\u0132']) assert.equal(bytesFromBase58(text, 1), null, text);
});
