import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, it } from 'node:test';
import { computeAddress } from 'ethers';
import { initKeccak } from '../../../src/crypto/keccak.js';
import { curvesOfKeystore } from '../../../src/signers/local/curves-of-keystore.js';
import { keyFromSeed, publicKeyOf } from '../../../src/signers/local/ed25519-key.js';
import { openSigner } from '../../../src/signers/local/open-signer.js';
import { cheapEd25519Keystore, cheapKeystore } from '../../support/cheap-keystore.js';

before(initKeccak);

it('a keystore’s signer is on its curve', async () => {
  const key = randomBytes(32);
  const evm = await openSigner({ id: 'a', json: await cheapKeystore(key, 'right'), passphrase: 'right', curve: 'secp256k1' });
  assert.equal(evm.curve === 'secp256k1' && evm.address, computeAddress(`0x${key.toString('hex')}`));
  const other = await openSigner({ id: 'b', json: cheapEd25519Keystore(key, 'right'), passphrase: 'right', curve: 'ed25519' });
  assert.ok(other.curve === 'ed25519');
  assert.deepEqual(Buffer.from(other.publicKey), publicKeyOf(keyFromSeed(key)));
  assert.deepEqual([evm.id, other.id], ['a', 'b']);
});

it('what is no JSON is refused, and not quoted', async () => {
  await assert.rejects(openSigner({ id: 'a', json: 'secret-text', passphrase: 'right', curve: 'ed25519' }), {
    message: 'the keystore is not JSON',
  });
});

it('a keystore of the existing relayer, which names no address, is for every network', async () => {
  const key = randomBytes(32);
  const { address, Crypto, crypto = Crypto, ...rest } = JSON.parse(await cheapKeystore(key, 'right'));
  const json = JSON.stringify({ ...rest, crypto });
  assert.deepEqual(curvesOfKeystore(json), ['secp256k1', 'ed25519']);
  const evm = await openSigner({ id: 'a', json, passphrase: 'right', curve: 'secp256k1' });
  assert.equal(evm.curve === 'secp256k1' && evm.address.toLowerCase(), `0x${address}`);
  const other = await openSigner({ id: 'a', json, passphrase: 'right', curve: 'ed25519' });
  assert.deepEqual(other.curve === 'ed25519' && Buffer.from(other.publicKey), publicKeyOf(keyFromSeed(key)));
});

it('a keystore is not opened for a network that its key is not for', async () => {
  const wrong = { id: 'a', passphrase: 'right' };
  await assert.rejects(openSigner({ ...wrong, json: await cheapKeystore(randomBytes(32), 'right'), curve: 'ed25519' }), {
    problem: 'wrong_curve',
    message: 'the keystore holds a key of secp256k1, and one of ed25519 is needed',
  });
  await assert.rejects(openSigner({ ...wrong, json: cheapEd25519Keystore(randomBytes(32), 'right'), curve: 'secp256k1' }), {
    problem: 'wrong_curve',
    message: 'the keystore holds a key of ed25519, and one of secp256k1 is needed',
  });
});
