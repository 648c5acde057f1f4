import assert from 'node:assert/strict';
import { it } from 'node:test';
import { computeAddress, recoverAddress as ethersRecoverAddress, getCreateAddress, SigningKey } from 'ethers';
import fc from 'fast-check';
import { addressOfPublicKey, createdAddress, recoverAddress } from '../../src/crypto/evm-address.js';

const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const privateKeys = fc.bigInt({ min: 1n, max: curveOrder - 1n });
const digests = fc.uint8Array({ minLength: 32, maxLength: 32 });

it('addressOfPublicKey: gives the address that ethers gives, for both forms of a key', () => {
  fc.assert(
    fc.property(privateKeys, (privateKey) => {
      const key = new SigningKey(`0x${wordOf(privateKey)}`);
      const expected = computeAddress(key.publicKey);
      assert.equal(addressOfPublicKey(bytesOf(key.publicKey)), expected);
      assert.equal(addressOfPublicKey(bytesOf(key.compressedPublicKey)), expected);
    }),
    { numRuns: 50 },
  );
});

it('addressOfPublicKey: refuses bytes that are no point of the curve', () => {
  assert.throws(() => addressOfPublicKey(Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)])));
  assert.throws(() => addressOfPublicKey(Buffer.alloc(64, 1)));
});

it('recoverAddress: recovers the signer as ethers does, from signatures with an s in either half', () => {
  fc.assert(
    fc.property(privateKeys, digests, (privateKey, digest) => {
      const key = new SigningKey(`0x${wordOf(privateKey)}`);
      const { r, s, yParity } = key.sign(digest);
      const low = bytesOf(r + s.slice(2));
      const expected = computeAddress(key.publicKey);
      const other: 0 | 1 = yParity === 0 ? 1 : 0;
      assert.equal(recoverAddress(digest, low, yParity), expected);
      assert.equal(ethersRecoverAddress(digest, { r, s, yParity }), expected);
      const high = Buffer.concat([low.subarray(0, 32), bytesOf(`0x${wordOf(curveOrder - BigInt(s))}`)]);
      assert.equal(recoverAddress(digest, high, other), expected);
      assert.notEqual(recoverAddress(digest, low, other), expected);
    }),
    { numRuns: 50 },
  );
});

it('recoverAddress: refuses numbers that no signature has', () => {
  const digest = Buffer.alloc(32, 7);
  const one = bytesOf(`0x${wordOf(1n)}`);
  for (const bad of [0n, curveOrder, 2n ** 256n - 1n]) {
    const word = bytesOf(`0x${wordOf(bad)}`);
    assert.throws(() => recoverAddress(digest, Buffer.concat([word, one]), 0), `r ${bad}`);
    assert.throws(() => recoverAddress(digest, Buffer.concat([one, word]), 0), `s ${bad}`);
  }
  assert.throws(() => recoverAddress(digest, Buffer.alloc(65, 1), 0));
});

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}

function wordOf(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}

it('createdAddress: gives the address that ethers gives, for nonces of every length', () => {
  const nonces = [0n, 1n, 0x7fn, 0x80n, 0xffn, 0x100n, 2n ** 53n, 2n ** 63n - 1n];
  fc.assert(
    fc.property(privateKeys, fc.oneof(fc.constantFrom(...nonces), fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })), (privateKey, nonce) => {
      const from = computeAddress(new SigningKey(`0x${wordOf(privateKey)}`).publicKey);
      assert.equal(createdAddress(from, nonce), getCreateAddress({ from, nonce }));
    }),
    { numRuns: 50 },
  );
});
