import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { computeAddress } from 'ethers';
import type { HeldSigner } from '../../../src/core/signer/signers.js';
import { keyFromSeed, publicKeyOf } from '../../../src/signers/local/ed25519-key.js';
import { keystoreFrom } from '../../../src/signers/local/open-signer.js';
import { cheapEd25519Keystore, cheapKeystore, keystoreOfAnyNetwork } from '../../support/cheap-keystore.js';

it('keystoreFrom: opens a signer on the curve of the keystore', async () => {
  const key = randomBytes(32);
  const evm = await keystoreFrom(await cheapKeystore(key, 'right')).open('a', 'right');
  assert.equal(evm.evmAddress, computeAddress(`0x${key.toString('hex')}`));
  const other = await keystoreFrom(cheapEd25519Keystore(key, 'right')).open('b', 'right');
  assert.deepEqual(publicKeyOfSigner(other), publicKeyOf(keyFromSeed(key)));
  assert.deepEqual([evm.id, other.id, evm.on('ed25519'), other.on('secp256k1'), other.evmAddress], ['a', 'b', undefined, undefined, null]);
});

it('keystoreFrom: rejects a file that is not JSON without quoting it', () => {
  assert.throws(() => keystoreFrom('secret-text'), {
    message: 'the keystore is not valid JSON: expected a value at line 1, column 1',
  });
});

it('keystoreFrom: opens a signer on both curves for a keystore without an address, as OpenZeppelin Relayer writes it', async () => {
  const key = randomBytes(32);
  const json = keystoreOfAnyNetwork(await cheapKeystore(key, 'right'));
  const keystore = keystoreFrom(json);
  assert.deepEqual(keystore.curves, ['secp256k1', 'ed25519']);
  const signer = await keystore.open('a', 'right');
  assert.equal(signer.evmAddress, computeAddress(`0x${key.toString('hex')}`));
  assert.equal(signer.on('secp256k1')?.curve, 'secp256k1');
  assert.deepEqual(publicKeyOfSigner(signer), publicKeyOf(keyFromSeed(key)));
});

it('keystoreFrom: opens a keystore with an address on the curve that the operator chooses, and no other', async () => {
  const key = randomBytes(32);
  const keystore = keystoreFrom(await cheapKeystore(key, 'right')).only('ed25519');
  assert.deepEqual(keystore?.curves, ['ed25519']);
  const signer = (await keystore?.open('a', 'right')) ?? assert.fail();
  assert.deepEqual(publicKeyOfSigner(signer), publicKeyOf(keyFromSeed(key)));
  assert.deepEqual([signer.on('secp256k1'), signer.evmAddress], [undefined, null]);
  await assert.rejects(keystore?.open('a', 'wrong') ?? assert.fail(), { problem: 'wrong_passphrase' });
  assert.equal(keystoreFrom(cheapEd25519Keystore(key, 'right')).only('secp256k1'), undefined);
});

function publicKeyOfSigner(held: HeldSigner): Buffer {
  const signer = held.on('ed25519');
  assert.ok(signer?.curve === 'ed25519');
  return Buffer.from(signer.publicKey);
}
