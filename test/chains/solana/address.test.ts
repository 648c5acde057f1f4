import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getBase58Decoder } from '@solana/kit';
import { addressFromPublicKey, bytesFromSecretKey } from '../../../src/chains/solana/address.js';
import { keyFromSeed, publicKeyOf } from '../../../src/signers/local/ed25519-key.js';

const seed = Buffer.alloc(32, 1);
const pair = Buffer.concat([seed, publicKeyOf(keyFromSeed(seed))]);

test('address: encodes a public key in base58', () => {
  assert.equal(addressFromPublicKey(pair.subarray(32)), 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9');
  assert.equal(addressFromPublicKey(new Uint8Array(32)), '11111111111111111111111111111111');
});

test('secret key: decodes the formats of Solana’s tools', () => {
  for (const bytes of [pair, seed]) {
    assert.deepEqual(bytesFromSecretKey(getBase58Decoder().decode(bytes)), bytes);
    assert.deepEqual(bytesFromSecretKey(JSON.stringify([...bytes])), bytes);
    assert.deepEqual(bytesFromSecretKey(`[ ${[...bytes].join(' ,\n')} ]`), bytes);
  }
  for (const text of ['', '[]', '[256', `[${'256,'.repeat(63)}1]`, `[${'1,'.repeat(40)}1]`, 'not base58: 0OIl', 'z'.repeat(60)]) {
    assert.equal(bytesFromSecretKey(text), null, text);
  }
});
