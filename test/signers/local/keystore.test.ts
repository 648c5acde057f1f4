import assert from 'node:assert/strict';
import { createHook } from 'node:async_hooks';
import { createCipheriv, pbkdf2Sync, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { decryptKeystoreJson, encryptKeystoreJson, keccak256 as ethersKeccak256, Wallet } from 'ethers';
import { createKeystore, openKeystore } from '../../../src/signers/local/keystore.js';
import { KeystoreError, type KeystoreProblem } from '../../../src/signers/local/keystore-error.js';

const { address, privateKey } = Wallet.createRandom();
const wallet = { address, privateKey };
const key = Buffer.from(wallet.privateKey.slice(2), 'hex');
const light = { scrypt: { N: 1024, r: 8, p: 1 } };

function problem(expected: KeystoreProblem, message?: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof KeystoreError);
    assert.equal(error.problem, expected);
    if (message !== undefined) assert.match(error.message, message);
    return true;
  };
}

describe('Ethereum keystore', () => {
  it('ethers opens a keystore that the service created', async () => {
    const json = await createKeystore(key, 'correct horse');
    const opened = await decryptKeystoreJson(json, 'correct horse');
    assert.equal(opened.privateKey, wallet.privateKey);
    assert.equal(opened.address, wallet.address);
    assert.equal(JSON.parse(json).crypto.kdfparams.n, 131_072);
  });

  it('the service opens a keystore that it created', async () => {
    const opened = await openKeystore(await createKeystore(key, 'ﬁne pässword'), 'ﬁne pässword');
    assert.deepEqual([opened.address, opened.privateKey], [wallet.address, key]);
  });

  it('the service opens a keystore from ethers, also with a passphrase that ethers normalizes', async () => {
    for (const passphrase of ['plain', 'ﬁne']) {
      const opened = await openKeystore(await encryptKeystoreJson(wallet, passphrase, light), passphrase);
      assert.deepEqual([opened.address, opened.privateKey], [wallet.address, key]);
    }
  });

  it('the service refuses a pbkdf2 keystore with too many rounds, and one with a long key that repeats them', async () => {
    const keystore = JSON.parse(pbkdf2Keystore('x'));
    for (const [params, most] of [
      [{ c: 4_194_305 }, 4_194_304],
      [{ c: 131_073, dklen: 1024 }, 131_072],
    ] as const) {
      const costly = { ...keystore, crypto: { ...keystore.crypto, kdfparams: { ...keystore.crypto.kdfparams, ...params } } };
      await assert.rejects(openKeystore(JSON.stringify(costly), 'x'), {
        problem: 'too_costly',
        message: `the keystore's pbkdf2 c is ${params.c}; it must be at most ${most}`,
      });
    }
  });

  it('the service opens a pbkdf2 keystore from geth, which does not normalize passphrases', async () => {
    const opened = await openKeystore(pbkdf2Keystore('ﬁne'), 'ﬁne');
    assert.deepEqual([opened.address, opened.privateKey], [wallet.address, key]);
  });

  it('Ethereum keystore: rejects a wrong passphrase', async () => {
    const json = await encryptKeystoreJson(wallet, 'right', light);
    await assert.rejects(openKeystore(json, 'wrong'), problem('wrong_passphrase', /^the passphrase does not decrypt the keystore$/));
  });

  it('Ethereum keystore: rejects a keystore with a changed ciphertext', async () => {
    const keystore = JSON.parse(await encryptKeystoreJson(wallet, 'right', light));
    const stored = keystore.crypto ?? keystore.Crypto;
    stored.ciphertext = `${stored.ciphertext.slice(0, -1)}${stored.ciphertext.endsWith('0') ? '1' : '0'}`;
    await assert.rejects(openKeystore(JSON.stringify(keystore), 'right'), problem('wrong_passphrase'));
  });

  it('Ethereum keystore: rejects a keystore that names the address of another key', async () => {
    const keystore = JSON.parse(await encryptKeystoreJson(wallet, 'right', light));
    keystore.address = '00'.repeat(20);
    await assert.rejects(
      openKeystore(JSON.stringify(keystore), 'right'),
      problem('malformed', /names the address 0x0{40}, but holds the key of another address/),
    );
  });

  it('Ethereum keystore: rejects a file that is not a keystore without quoting it', async () => {
    for (const json of ['secret-text', '[]', 'null', '{}', '{"version":1}', '{"Crypto":7}', '{"version":3,"crypto":{"cipher":"x"}}']) {
      await assert.rejects(openKeystore(json, 'any'), (error) => {
        problem('malformed')(error);
        assert.ok(error instanceof Error && !error.message.includes('secret-text'));
        return true;
      });
    }
  });

  it('Ethereum keystore: names every field that is missing or malformed, and never a value', async () => {
    const keystore = JSON.parse(pbkdf2Keystore('right'));
    const { crypto } = keystore;
    const withCrypto = (changes: object) => ({ ...keystore, crypto: { ...crypto, ...changes } });
    const withParams = (changes: object) => withCrypto({ kdfparams: { ...crypto.kdfparams, ...changes } });
    const wrong: readonly (readonly [object, string])[] = [
      [[], 'the whole file'],
      [{}, 'version, crypto'],
      [{ version: 3, Crypto: 'secret-text' }, 'Crypto'],
      [{ ...keystore, version: 'secret-text', address: null }, 'version, address'],
      [withCrypto({ kdf: 'secret-text', kdfparams: {}, mac: '0x' }), 'crypto.kdf, crypto.mac'],
      [withCrypto({ kdf: 'scrypt' }), 'crypto.kdfparams.n, crypto.kdfparams.r, crypto.kdfparams.p'],
      [withCrypto({ cipher: 'secret-text', cipherparams: [] }), 'crypto.cipher, crypto.cipherparams'],
      [withCrypto({ cipherparams: { iv: '00' } }), 'crypto.cipherparams.iv'],
      [withParams({ c: 0, dklen: 31, prf: 'secret-text' }), 'crypto.kdfparams.dklen, crypto.kdfparams.prf, crypto.kdfparams.c'],
      [withParams({ c: 1.5, dklen: 1025, salt: '' }), 'crypto.kdfparams.dklen, crypto.kdfparams.salt, crypto.kdfparams.c'],
      [withParams({ c: 1e300 }), 'crypto.kdfparams.c'],
      [withParams({ c: '1000', salt: '0'.repeat(2050) }), 'crypto.kdfparams.salt, crypto.kdfparams.c'],
    ];
    for (const [value, fields] of wrong) {
      await assert.rejects(openKeystore(JSON.stringify(value), 'right'), {
        problem: 'malformed',
        message: `the keystore is not a version 3 keystore; missing or malformed: ${fields}`,
      });
    }
  });

  it('Ethereum keystore: rejects a field that is there twice, of which readers would take different ones', async () => {
    const json = pbkdf2Keystore('right');
    await assert.rejects(openKeystore(`${json.slice(0, -1)},"version":3}`, 'right'), {
      problem: 'malformed',
      message: /^the keystore has the key "version" twice in one object, again at line 1, column \d+$/,
    });
  });

  it('Ethereum keystore: reads integers in every notation, hex with 0x, and the field name Crypto of old files', async () => {
    const { crypto, ...rest } = JSON.parse(pbkdf2Keystore('right'));
    const prefixed = {
      ...crypto,
      mac: `0x${crypto.mac}`,
      ciphertext: `0x${crypto.ciphertext}`,
      cipherparams: { iv: `0x${crypto.cipherparams.iv}` },
    };
    const json = JSON.stringify({ ...rest, version: '3', address: `0x${rest.address}`, Crypto: prefixed });
    const opened = await openKeystore(json.replace('"c":1000', '"c":1.0e3').replace('"dklen":32', '"dklen":32.0'), 'right');
    assert.deepEqual([opened.address, opened.privateKey], [wallet.address, key]);
  });

  it('Ethereum keystore: rejects costly key derivation parameters before deriving a key, and states the limits', async () => {
    const keystore = JSON.parse(await encryptKeystoreJson(wallet, 'right', light));
    const stored = keystore.crypto ?? keystore.Crypto;
    for (const params of [{ n: 2 ** 40 }, { n: 2 ** 20, r: 1024 }, { p: 2 ** 30 }]) {
      const json = JSON.stringify({ ...keystore, crypto: { ...stored, kdfparams: { ...stored.kdfparams, ...params } }, Crypto: undefined });
      await assert.rejects(
        openKeystore(json, 'right'),
        problem('too_costly', /scrypt parameters are too costly: n \d+, r \d+, p \d+; 128\*n\*r may be at most 536870912/),
      );
    }
    const odd = { ...keystore, crypto: { ...stored, kdfparams: { ...stored.kdfparams, n: 1000 } }, Crypto: undefined };
    await assert.rejects(
      openKeystore(JSON.stringify(odd), 'right'),
      problem('malformed', /^the keystore's scrypt n is 1000; it must be a power of two$/),
    );
  });

  it('Ethereum keystore: opens more keystores in parallel than may derive keys at once', async () => {
    const json = await encryptKeystoreJson(wallet, 'right', light);
    const opened = await Promise.all(Array.from({ length: 6 }, () => openKeystore(json, 'right')));
    assert.ok(opened.every(({ privateKey }) => privateKey.equals(key)));
  });

  for (const [kdf, make] of [
    ['scrypt', () => encryptKeystoreJson(wallet, 'right', { scrypt: { N: 32_768, r: 8, p: 1 } })],
    ['pbkdf2', () => pbkdf2Keystore('right', 300_000)],
  ] as const) {
    it(`Ethereum keystore: six ${kdf} keystores at once wait for each other, and leave threads to the disk`, async () => {
      const json = await make();
      const running = new Set<number>();
      let most = 0;
      const watching = createHook({
        init(id, type) {
          if (type !== `${kdf.toUpperCase()}REQUEST`) return;
          running.add(id);
          most = Math.max(most, running.size);
        },
        before: (id) => void running.delete(id),
      }).enable();
      try {
        await Promise.all(Array.from({ length: 6 }, () => openKeystore(json, 'right')));
      } finally {
        watching.disable();
      }
      // Of four threads, which the disk uses too.
      assert.equal(most, 2);
      assert.equal(running.size, 0);
    });
  }
});

function pbkdf2Keystore(passphrase: string, rounds = 1000): string {
  const salt = randomBytes(32);
  const iv = randomBytes(16);
  const derived = pbkdf2Sync(Buffer.from(passphrase), salt, rounds, 32, 'sha256');
  const cipher = createCipheriv('aes-128-ctr', derived.subarray(0, 16), iv);
  const ciphertext = Buffer.concat([cipher.update(key), cipher.final()]);
  return JSON.stringify({
    version: 3,
    address: wallet.address.slice(2).toLowerCase(),
    crypto: {
      cipher: 'aes-128-ctr',
      cipherparams: { iv: iv.toString('hex') },
      ciphertext: ciphertext.toString('hex'),
      kdf: 'pbkdf2',
      kdfparams: { c: rounds, prf: 'hmac-sha256', dklen: 32, salt: salt.toString('hex') },
      mac: ethersKeccak256(Buffer.concat([derived.subarray(16, 32), ciphertext])).slice(2),
    },
  });
}
