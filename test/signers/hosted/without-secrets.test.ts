import assert from 'node:assert/strict';
import { it } from 'node:test';
import { withoutSecrets } from '../../../src/signers/hosted/without-secrets.js';

it('secrets in the text of a provider: are masked in each form, and a short one masks no part of a word', () => {
  const secret = 'line one\nline "two"/+';
  const forms = [secret, JSON.stringify(secret), encodeURIComponent(secret), Buffer.from(secret).toString('base64')];
  for (const form of forms) {
    const masked = withoutSecrets(`you sent ${form}!`, ['a', secret, undefined, '']);
    assert.match(masked, /^you sent "?\[secret\]"?=*!$/);
  }
  assert.equal(withoutSecrets('a long-secret-and-more here', ['long-secret', 'long-secret-and-more']), 'a [secret] here');
  assert.equal(withoutSecrets('an answer', ['a']), 'an answer');
});
