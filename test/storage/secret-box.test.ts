import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { createSecretBox } from '../../src/storage/secret-box.js';

const key = randomBytes(32).toString('base64');
const box = createSecretBox(key);

describe('secret box', () => {
  test('secret box: opens every text that it sealed', () => {
    for (const text of ['', 'whsec_abc', 'ünï✓😀\u0000', 'x'.repeat(10_000)]) {
      assert.equal(box.open(box.seal(text, 'notification:1'), 'notification:1'), text);
    }
  });

  test('secret box: seals the same text differently each time, in a versioned format that hides the text', () => {
    const sealed = Array.from({ length: 100 }, () => box.seal('secret-key', 'p'));
    assert.equal(new Set(sealed).size, 100);
    for (const text of sealed) {
      assert.match(text, /^v1\.[A-Za-z0-9_-]+$/);
      assert.ok(!Buffer.from(text.slice(3), 'base64url').includes('secret-key'));
    }
  });

  test('secret box: does not open for another purpose or under another key', () => {
    const sealed = box.seal('secret', 'notification:1');
    assert.throws(() => box.open(sealed, 'notification:2'), /sealed secret/);
    assert.throws(() => box.open(sealed, ''), /sealed secret/);
    assert.throws(() => createSecretBox(randomBytes(32).toString('base64')).open(sealed, 'notification:1'), /sealed secret/);
  });

  test('secret box: does not open a sealed text with a changed, missing or added character', () => {
    const sealed = box.seal('secret', 'p');
    for (let at = 0; at < sealed.length; at += 1) {
      const other = sealed[at] === 'A' ? 'B' : 'A';
      assert.throws(() => box.open(sealed.slice(0, at) + other + sealed.slice(at + 1), 'p'), /sealed secret/, `changed at ${at}`);
      assert.throws(() => box.open(sealed.slice(0, at), 'p'), /sealed secret/, `cut at ${at}`);
      assert.throws(() => box.open(sealed.slice(0, at) + sealed.slice(at + 1), 'p'), /sealed secret/, `missing at ${at}`);
    }
    for (const text of [`${sealed}A`, `${sealed}=`, `${sealed}\n`, ` ${sealed}`, sealed.replace('v1.', 'v2.')]) {
      assert.throws(() => box.open(text, 'p'), /sealed secret/);
    }
  });

  test('secret box: does not open plain text', () => {
    for (const text of ['', 'v1.', 'secret', 'v1.secret', `v1.${'A'.repeat(38)}`])
      assert.throws(() => box.open(text, 'p'), /sealed secret/);
  });

  test('secret box: rejects a key that is not base64 of exactly 32 bytes, and does not quote it', () => {
    const wrong = [
      '',
      'short',
      randomBytes(31).toString('base64'),
      randomBytes(33).toString('base64'),
      randomBytes(32).toString('hex'),
      Buffer.alloc(32, 0xff).toString('base64url'),
      key.slice(0, -1),
      `${key}=`,
      ` ${key}`,
      `${key}\n`,
      // The unused bits of the last character are set.
      `${'A'.repeat(42)}B=`,
    ];
    for (const text of wrong) {
      assert.throws(
        () => createSecretBox(text),
        (error) => error instanceof Error && /32 bytes in base64/.test(error.message) && (text === '' || !error.message.includes(text)),
      );
    }
  });
});
