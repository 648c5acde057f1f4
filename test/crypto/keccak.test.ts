import assert from 'node:assert/strict';
import { it } from 'node:test';
import { keccak256 as ethersKeccak256 } from 'ethers';
import fc from 'fast-check';
import { keccak256 } from '../../src/crypto/keccak.js';

it('keccak256: hashes like ethers', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      assert.equal(`0x${Buffer.from(keccak256(bytes)).toString('hex')}`, ethersKeccak256(bytes));
    }),
  );
});

it('keccak256: returns separate bytes to each caller', () => {
  const first = keccak256(Uint8Array.of(1));
  const copy = Uint8Array.from(first);
  keccak256(Uint8Array.of(2));
  assert.deepEqual(first, copy);
});
