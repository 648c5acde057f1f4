import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { DomainError } from '../../../src/core/errors/errors.js';
import {
  checkSigningKey,
  cosigningKeys,
  rotateSigningKey,
  type SigningKeys,
  secretFromSigningKey,
  signingKeyWarnings,
} from '../../../src/core/notification/signing-key.js';
import { createSecretBox } from '../../../src/storage/secret-box.js';

const whsec = (bytes: number) => `whsec_${randomBytes(bytes).toString('base64')}`;

describe('signing key', () => {
  const notEncoded = [
    'whsec_',
    whsec(23),
    whsec(65),
    whsec(25).replace(/=+$/, ''),
    `${whsec(24)} `,
    `whsec_${Buffer.alloc(24, 0xff).toString('base64url')}`,
    'whsec_not base64 at all, but long enough',
    // The last character carries bits that decoding drops.
    `whsec_${'A'.repeat(33)}B==`,
  ];

  it('signing key: accepts any text of 1 to 8192 bytes in UTF-8', () => {
    const texts = ['x', ' ', 'a key with spaces', 'pässwörd', 'tab\tin', 'line\n', '\x7f', '\u{1f600}'.repeat(2048), 'x'.repeat(8192)];
    for (const key of [...texts, ...notEncoded, whsec(24), whsec(64)]) checkSigningKey(key);
  });

  for (const key of ['', 'x'.repeat(8193), `é${'x'.repeat(8191)}`]) {
    it(`signing key: rejects ${key.length} characters without echoing them`, () => {
      assert.throws(
        () => checkSigningKey(key),
        (error: unknown) => {
          assert(error instanceof DomainError);
          assert.equal(error.reason, 'FIELD_INVALID');
          assert.equal(error.fields[0]?.field, 'signing_key');
          return key.length < 8 || !error.message.includes(key);
        },
      );
    });
  }

  it('signing key: whsec_ without 24 to 64 bytes of base64 behind it is plain text, with a warning', () => {
    for (const key of notEncoded) {
      assert.deepEqual(secretFromSigningKey(key), Buffer.from(key, 'utf8'));
      assert.match(signingKeyWarnings(key).join(), /signing_key begins with whsec_, .*; it is used as plain text/);
    }
    for (const key of [whsec(24), whsec(64), 'WHSEC_'.padEnd(32, 'x')]) assert.deepEqual(signingKeyWarnings(key), []);
  });

  it('signing key: warns about keys below 32 characters', () => {
    assert.equal(signingKeyWarnings('x'.repeat(31)).length, 1);
    assert.deepEqual(signingKeyWarnings('x'.repeat(32)), []);
  });

  it('signing key: signs with its own bytes, or those that whsec_ encodes', () => {
    assert.deepEqual(secretFromSigningKey('abc'), Buffer.from('abc'));
    assert.deepEqual(secretFromSigningKey(`whsec_${Buffer.alloc(24, 7).toString('base64')}`), Buffer.alloc(24, 7));
  });
});

const hourMs = 3_600_000;
const startMs = Date.UTC(2030, 0, 1);
const none: SigningKeys = { sealedSigningKey: null, retiredKeys: [] };

function notification(secretBox = createSecretBox(randomBytes(32).toString('base64'))) {
  let nowMs = startMs;
  let keys = none;
  const open = (sealed: string) => secretBox.open(sealed, 'notification:hook');
  return {
    secretBox,
    pass: (hours: number) => {
      nowMs += hours * hourMs;
    },
    set: (key: string | null, box = secretBox) => {
      keys = rotateSigningKey({ secretBox: box, clock: { nowMs: () => nowMs } }, { id: 'hook', ...keys }, key);
      return keys;
    },
    present: () => keys.sealedSigningKey && open(keys.sealedSigningKey),
    /** The retired keys that sign now. */
    cosigning: () => cosigningKeys(keys.retiredKeys, nowMs).map((key) => open(key.sealedSigningKey)),
    stored: () => keys,
  };
}

describe('rotating a signing key', () => {
  it('rotation: the previous key keeps signing for 24 hours', () => {
    const hook = notification();
    hook.set('one');
    assert.deepEqual([hook.present(), hook.cosigning()], ['one', []]);
    hook.pass(100);
    hook.set('two');
    hook.pass(20);
    hook.set('three');
    assert.deepEqual([hook.present(), hook.cosigning()], ['three', ['two', 'one']]);
    hook.pass(3.9);
    assert.deepEqual(hook.cosigning(), ['two', 'one']);
    hook.pass(0.1);
    assert.deepEqual(hook.cosigning(), ['two']);
    hook.pass(20);
    assert.deepEqual([hook.present(), hook.cosigning()], ['three', []]);
    hook.set('four');
    assert.equal(hook.stored().retiredKeys.length, 1, 'those that are over are forgotten');
  });

  it('rotation: setting the present key changes nothing', () => {
    const hook = notification();
    const stored = hook.set('one');
    assert.deepEqual(hook.set('one'), stored);
  });

  it('rotation: removing the key removes all keys', () => {
    const hook = notification();
    hook.set('one');
    hook.set('two');
    assert.deepEqual(hook.set(null), none);
    hook.set('three');
    assert.deepEqual(hook.cosigning(), []);
  });

  it('rotation: a key that is set again is no longer retired', () => {
    const hook = notification();
    for (const key of ['one', 'two', 'one']) hook.set(key);
    assert.deepEqual([hook.present(), hook.cosigning()], ['one', ['two']]);
  });

  it('rotation: keeps at most fifty retired keys', () => {
    const hook = notification();
    for (let number = 0; number <= 60; number += 1) hook.set(`key ${number}`);
    assert.equal(hook.cosigning().length, 50);
    assert.equal(hook.cosigning()[0], 'key 59');
  });

  it('rotation: seals every key for its notification only', () => {
    const hook = notification();
    hook.set('SECRET one');
    hook.set('SECRET two');
    const [retired] = hook.stored().retiredKeys;
    assert.doesNotMatch(JSON.stringify(hook.stored()), /SECRET/);
    assert.throws(() => hook.secretBox.open(retired?.sealedSigningKey ?? '', 'notification:other'));
  });

  it('rotation: accepts a new key if the stored ones cannot be decrypted', () => {
    const hook = notification();
    hook.set('one');
    hook.set('two');
    const otherBox = createSecretBox(randomBytes(32).toString('base64'));
    const keys = hook.set('three', otherBox);
    assert.equal(otherBox.open(keys.sealedSigningKey ?? '', 'notification:hook'), 'three');
    assert.deepEqual(keys.retiredKeys, []);
  });
});
