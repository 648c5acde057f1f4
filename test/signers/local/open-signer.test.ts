import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { computeAddress } from 'ethers';
import type { HeldSigner } from '../../../src/core/signer/signers.js';
import { keyFromSeed, publicKeyOf } from '../../../src/signers/local/ed25519-key.js';
import { curvesOfKeystore, openSigner } from '../../../src/signers/local/open-signer.js';
import { cheapEd25519Keystore, cheapKeystore, keystoreOfAnyNetwork } from '../../support/cheap-keystore.js';

it('openSigner: makes a signer on the curve of the keystore', async () => {
  const key = randomBytes(32);
  const evm = await openSigner({ id: 'a', json: await cheapKeystore(key, 'right'), passphrase: 'right' });
  assert.equal(evm.evmAddress, computeAddress(`0x${key.toString('hex')}`));
  const other = await openSigner({ id: 'b', json: cheapEd25519Keystore(key, 'right'), passphrase: 'right' });
  assert.deepEqual(publicKeyOfSigner(other), publicKeyOf(keyFromSeed(key)));
  assert.deepEqual([evm.id, other.id, evm.on('ed25519'), other.on('secp256k1'), other.evmAddress], ['a', 'b', undefined, undefined, null]);
});

it('openSigner: rejects a file that is not JSON without quoting it', async () => {
  await assert.rejects(openSigner({ id: 'a', json: 'secret-text', passphrase: 'right' }), {
    message: 'the keystore is not JSON',
  });
});

it('openSigner: makes a signer on both curves for a keystore without an address, as OpenZeppelin Relayer writes it', async () => {
  const key = randomBytes(32);
  const json = keystoreOfAnyNetwork(await cheapKeystore(key, 'right'));
  assert.deepEqual(curvesOfKeystore(json), ['secp256k1', 'ed25519']);
  const signer = await openSigner({ id: 'a', json, passphrase: 'right' });
  assert.equal(signer.evmAddress, computeAddress(`0x${key.toString('hex')}`));
  assert.equal(signer.on('secp256k1')?.curve, 'secp256k1');
  assert.deepEqual(publicKeyOfSigner(signer), publicKeyOf(keyFromSeed(key)));
});

function publicKeyOfSigner(held: HeldSigner): Buffer {
  const signer = held.on('ed25519');
  assert.ok(signer?.curve === 'ed25519');
  return Buffer.from(signer.publicKey);
}
