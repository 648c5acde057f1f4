import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Secp256k1Signer } from '../../../src/core/ports/signer.js';
import { signData, signTypedData } from '../../../src/core/signer/sign-data.js';
import { keccak256 } from '../../../src/crypto/keccak.js';

it('signing of data: signs nothing that begins as a transaction or as an EIP-7702 authorization, whatever the caller sends', async () => {
  const signed: Uint8Array[] = [];
  const noted = (bytes: Uint8Array): Uint8Array => {
    signed.push(Uint8Array.from(bytes));
    return keccak256(bytes);
  };
  const signer: Secp256k1Signer = { id: 's1', curve: 'secp256k1', address: '', signDigest: async () => ({ r: '', s: '', v: 27, sig: '' }) };
  // The magic byte of an authorization is 5, and transactions begin with their type or with a list.
  for (const start of ['\x05', '\x04', '\x02', '\xc0', '\x19\x01', '', '0x05d6'])
    await signData(noted, signer, Buffer.from(`${start}${'a'.repeat(40)}`));
  for (const hash of ['05'.repeat(32), '00'.repeat(32), 'ff'.repeat(32)])
    await signTypedData(noted, signer, { domainSeparator: hash, hashStructMessage: hash });
  assert.equal(signed.length, 10);
  for (const bytes of signed) assert.equal(bytes[0], 0x19);
});
