import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, it } from 'node:test';
import { computeAddress } from 'ethers';
import { initKeccak } from '../../../src/crypto/keccak.js';
import { keyFromSeed, publicKeyOf } from '../../../src/signers/local/ed25519-key.js';
import { openSigner } from '../../../src/signers/local/open-signer.js';
import { cheapEd25519Keystore, cheapKeystore } from '../../support/cheap-keystore.js';

before(initKeccak);

it('a keystore’s signer is on its curve', async () => {
  const key = randomBytes(32);
  const evm = await openSigner({ id: 'a', json: await cheapKeystore(key, 'right'), passphrase: 'right' });
  assert.equal(evm.curve === 'secp256k1' && evm.address, computeAddress(`0x${key.toString('hex')}`));
  const other = await openSigner({ id: 'b', json: cheapEd25519Keystore(key, 'right'), passphrase: 'right' });
  assert.ok(other.curve === 'ed25519');
  assert.deepEqual(Buffer.from(other.publicKey), publicKeyOf(keyFromSeed(key)));
  assert.deepEqual([evm.id, other.id], ['a', 'b']);
});

it('what is no JSON is refused, and not quoted', async () => {
  await assert.rejects(openSigner({ id: 'a', json: 'secret-text', passphrase: 'right' }), { message: 'the keystore is not JSON' });
});
