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

/** The keystore with some of its fields changed. */
function changed(change: (keystore: Record<string, Record<string, unknown>>) => void): string {
  const keystore = JSON.parse(cheapEd25519Keystore(seed, 'right'));
  change(keystore);
  return JSON.stringify(keystore);
}

describe('an ed25519 keystore', () => {
  it('of ours is opened by us, and by whoever reads the format', async () => {
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

  it('of others is opened by us', async () => {
    assert.deepEqual(await openEd25519Keystore(cheapEd25519Keystore(seed, 'right'), 'right'), { publicKey, privateKey: seed });
  });

  it('is not opened by a wrong passphrase', async () => {
    const json = cheapEd25519Keystore(seed, 'right');
    await assert.rejects(openEd25519Keystore(json, 'wrong'), problem('wrong_passphrase', /^the passphrase does not open the keystore$/));
  });

  it('that was tampered with is not opened', async () => {
    const flip = (text: unknown): string => `${String(text).slice(0, -1)}${String(text).endsWith('0') ? '1' : '0'}`;
    const tampered = changed(({ crypto }) => Object.assign(crypto ?? {}, { ciphertext: flip(crypto?.ciphertext) }));
    await assert.rejects(openEd25519Keystore(tampered, 'right'), problem('wrong_passphrase'));
  });

  it('under another public key is refused', async () => {
    const other = publicKeyOf(keyFromSeed(randomBytes(32)));
    const json = cheapEd25519Keystore(seed, 'right', other);
    await assert.rejects(
      openEd25519Keystore(json, 'right'),
      problem('malformed', /says that it holds the key of [0-9a-f]{64}, but holds another/),
    );
  });

  it('that is none is refused with what is wrong in it, and not quoted', async () => {
    const wrong: readonly (readonly [string, RegExp])[] = [
      ['secret-text', /not JSON/],
      ['[]', /the whole/],
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

  it('with absurd parameters is refused before anything is derived', async () => {
    const dear = changed(({ crypto }) => Object.assign(Object(crypto?.kdfparams), { n: 2 ** 40 }));
    await assert.rejects(openEd25519Keystore(dear, 'right'), problem('too_dear', /absurd scrypt/));
  });
});
