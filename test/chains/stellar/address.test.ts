import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Keypair } from '@stellar/stellar-sdk';
import { addressFromPublicKey, seedFromSecretSeed } from '../../../src/chains/stellar/address.js';

const pair = Keypair.fromRawEd25519Seed(Buffer.alloc(32, 1));

test('address: encodes a public key as a StrKey', () => {
  assert.equal(addressFromPublicKey(pair.rawPublicKey()), pair.publicKey());
});

test('secret seed: decodes a valid seed and rejects a wrong checksum', () => {
  assert.deepEqual(seedFromSecretSeed(pair.secret()), Buffer.alloc(32, 1));
  assert.equal(seedFromSecretSeed(`${pair.secret().slice(0, -1)}A`), null);
  assert.equal(seedFromSecretSeed(pair.publicKey()), null);
  assert.equal(seedFromSecretSeed(''), null);
});
