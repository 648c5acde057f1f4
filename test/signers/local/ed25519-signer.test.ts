import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { Keypair } from '@stellar/stellar-sdk';
import { createEd25519Signer } from '../../../src/signers/local/ed25519-signer.js';

it('ed25519 signer: signs the test vector of RFC 8032', async () => {
  // Test 2 of its section 7.1.
  const signer = createEd25519Signer({
    id: 'test',
    seed: Buffer.from('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb', 'hex'),
  });
  assert.equal(Buffer.from(signer.publicKey).toString('hex'), '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c');
  assert.equal(
    Buffer.from(await signer.sign(Uint8Array.of(0x72))).toString('hex'),
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  );
});

it('ed25519 signer: the Stellar SDK verifies its signatures, also after the caller overwrites the seed', async () => {
  const seed = randomBytes(32);
  const pair = Keypair.fromRawEd25519Seed(seed);
  const signer = createEd25519Signer({ id: 'test', seed });
  seed.fill(0);
  assert.deepEqual(new Uint8Array(signer.publicKey), new Uint8Array(pair.rawPublicKey()));
  for (const length of [0, 1, 32, 1232]) {
    const message = randomBytes(length);
    const signature = await signer.sign(message);
    assert.equal(signature.length, 64);
    assert.ok(pair.verify(message, Buffer.from(signature)));
  }
});

it('ed25519 signer: does not expose its key and rejects a seed of another length', () => {
  const signer = createEd25519Signer({ id: 'test', seed: randomBytes(32) });
  assert.deepEqual(Object.keys(signer).sort(), ['curve', 'id', 'publicKey', 'sign']);
  assert.throws(() => createEd25519Signer({ id: 'test', seed: randomBytes(64) }), { message: 'an ed25519 seed has 32 bytes, not 64' });
});
