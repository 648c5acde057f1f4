import assert from 'node:assert/strict';
import { createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { keyFromSeed, publicKeyOf } from '../../../src/signers/local/ed25519-key.js';
import { createEd25519Keystore, openEd25519Keystore } from '../../../src/signers/local/ed25519-keystore.js';
import { KeystoreError, type KeystoreProblem } from '../../../src/signers/local/keystore-error.js';
import { cheapEd25519Keystore } from '../../support/cheap-keystore.js';

const seed = randomBytes(32);
const publicKey = publicKeyOf(keyFromSeed(seed));

function problem(expected: KeystoreProblem, message?: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof KeystoreError);
    assert.equal(error.problem, expected);
    if (message !== undefined) assert.match(error.message, message);
    return true;
  };
}

/** A keystore with some fields changed. */
function changed(change: (keystore: Record<string, Record<string, unknown>>) => void): string {
  const keystore = JSON.parse(cheapEd25519Keystore(seed, 'right'));
  change(keystore);
  return JSON.stringify(keystore);
}

describe('ed25519 keystore', () => {
  it('the service and an independent reader of the format open a keystore that the service created', async () => {
    const json = await createEd25519Keystore(seed, 'ﬁne pässword');
    assert.deepEqual(await openEd25519Keystore(json, 'fine pässword'), { publicKey, privateKey: seed });
    const { version, type, public_key, crypto } = JSON.parse(json);
    assert.deepEqual([version, type, public_key, crypto.kdfparams.n], [1, 'ed25519', publicKey.toString('hex'), 131_072]);
    const { n, r, p, dklen, salt } = crypto.kdfparams;
    const key = scryptSync('fine pässword', Buffer.from(salt, 'hex'), dklen, { N: n, r, p, maxmem: 2 ** 28 });
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(crypto.cipherparams.iv, 'hex'));
    decipher.setAuthTag(Buffer.from(crypto.cipherparams.tag, 'hex'));
    assert.deepEqual(Buffer.concat([decipher.update(Buffer.from(crypto.ciphertext, 'hex')), decipher.final()]), seed);
  });

  it('the service opens a keystore from an independent writer of the format', async () => {
    assert.deepEqual(await openEd25519Keystore(cheapEd25519Keystore(seed, 'right'), 'right'), { publicKey, privateKey: seed });
  });

  it('ed25519 keystore: rejects a wrong passphrase', async () => {
    const json = cheapEd25519Keystore(seed, 'right');
    await assert.rejects(openEd25519Keystore(json, 'wrong'), problem('wrong_passphrase', /^the passphrase does not decrypt the keystore$/));
  });

  it('ed25519 keystore: rejects a keystore with a changed ciphertext', async () => {
    const flip = (text: unknown): string => `${String(text).slice(0, -1)}${String(text).endsWith('0') ? '1' : '0'}`;
    const tampered = changed(({ crypto }) => Object.assign(crypto ?? {}, { ciphertext: flip(crypto?.ciphertext) }));
    await assert.rejects(openEd25519Keystore(tampered, 'right'), problem('wrong_passphrase'));
  });

  it('ed25519 keystore: rejects a keystore that names the public key of another key', async () => {
    const other = publicKeyOf(keyFromSeed(randomBytes(32)));
    const json = cheapEd25519Keystore(seed, 'right', other);
    await assert.rejects(
      openEd25519Keystore(json, 'right'),
      problem('malformed', /names the public key [0-9a-f]{64}, but holds another key/),
    );
  });

  it('ed25519 keystore: rejects a file that is not a keystore, naming the wrong fields without quoting the file', async () => {
    const wrong: readonly (readonly [string, RegExp])[] = [
      ['secret-text', /not valid JSON/],
      ['[]', /the whole file/],
      ['{"type":"ed25519","version":2}', /missing or malformed: version, public_key, crypto/],
      [changed((keystore) => Object.assign(keystore, { public_key: 'secret-text' })), /missing or malformed: public_key$/],
      [changed(({ crypto }) => Object.assign(crypto ?? {}, { cipher: 'aes-128-ctr' })), /missing or malformed: crypto.cipher$/],
    ];
    for (const [json, message] of wrong) {
      await assert.rejects(openEd25519Keystore(json, 'any'), (error) => {
        problem('malformed', message)(error);
        return error instanceof Error && !error.message.includes('secret-text');
      });
    }
  });

  it('ed25519 keystore: rejects costly key derivation parameters before deriving a key', async () => {
    const costly = changed(({ crypto }) => Object.assign(Object(crypto?.kdfparams), { n: 2 ** 40 }));
    await assert.rejects(openEd25519Keystore(costly, 'right'), problem('too_costly', /scrypt parameters are too costly/));
  });
});
