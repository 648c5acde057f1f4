import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { DomainError } from '../../../src/core/errors.js';
import { checkSigningKey, secretFromSigningKey, signingKeyWarnings } from '../../../src/core/notification/signing-key.js';

const whsec = (bytes: number) => `whsec_${randomBytes(bytes).toString('base64')}`;

describe('signing key', () => {
  it('takes 1 to 1024 printable ASCII characters', () => {
    for (const key of ['x', ' ', '~', 'a key with spaces', 'x'.repeat(1024), 'WHSEC_', 'whsec', whsec(24), whsec(32), whsec(64)])
      checkSigningKey(key);
  });

  for (const key of [
    '',
    'x'.repeat(1025),
    'pässwörd',
    'tab\tin',
    'line\n',
    '\x7f',
    'whsec_',
    whsec(23),
    whsec(65),
    whsec(25).replace(/=+$/, ''),
    `${whsec(24)} `,
    `whsec_${Buffer.alloc(24, 0xff).toString('base64url')}`,
    'whsec_not base64 at all, but long enough',
    // The last character carries bits that decoding drops.
    `whsec_${'A'.repeat(33)}B==`,
  ]) {
    it(`refuses ${JSON.stringify(key.slice(0, 50))} without echoing it`, () => {
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

  it('warnings on keys below 32 characters', () => {
    assert.equal(signingKeyWarnings('x'.repeat(31)).length, 1);
    assert.deepEqual(signingKeyWarnings('x'.repeat(32)), []);
  });

  it('is its own bytes, or those that whsec_ encodes', () => {
    assert.deepEqual(secretFromSigningKey('abc'), Buffer.from('abc'));
    assert.deepEqual(secretFromSigningKey(`whsec_${Buffer.alloc(24, 7).toString('base64')}`), Buffer.alloc(24, 7));
  });
});
