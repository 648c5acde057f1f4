import assert from 'node:assert/strict';
import { it } from 'node:test';
import { withoutSecrets } from '../../../src/core/text/without-secrets.js';

it('secrets in the text of a provider: are masked in each form, and a short one masks no part of a word', () => {
  const secret = 'line one\nline "two"/+';
  const forms = [secret, JSON.stringify(secret), encodeURIComponent(secret), Buffer.from(secret).toString('base64')];
  for (const form of forms) {
    const masked = withoutSecrets(`you sent ${form}!`, ['a', secret, undefined, '']);
    assert.match(masked, /^you sent "?\*\*\*"?=*!$/);
  }
  assert.equal(withoutSecrets('a long-secret-and-more here', ['long-secret', 'long-secret-and-more']), 'a *** here');
  assert.equal(withoutSecrets('an answer', ['a']), 'an answer');
});

it('secrets in the text of a provider: are masked in a form body, with optional escapes, and in base64 beside something else', () => {
  // As Azure makes them.
  const secret = '9x.8Q~kLmNo_pQr-stUv+w/=1 é😀';
  const form = new URLSearchParams({ client_secret: secret }).toString();
  const percentAll = [...Buffer.from(secret)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  const unicode = [...Array(secret.length).keys()].map((at) => `\\u${secret.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');
  const texts = [form, form.replaceAll(/%../g, (hex) => hex.toLowerCase()), percentAll, unicode];
  for (const text of [...texts, JSON.stringify(secret).replaceAll('/', '\\/').replaceAll('+', '\\u002B')])
    assert.match(withoutSecrets(`body: ${text}!`, [secret]), /^body: (client_secret=)?"?\*\*\*"?!$/, text);
  for (const user of ['', 'a:', 'ab:', 'abc:'])
    for (const [rest, encoding] of [
      ['', 'base64'],
      [':x', 'base64'],
      ['', 'base64url'],
      ['yz', 'base64url'],
    ] as const) {
      const quoted = Buffer.from(user + secret + rest).toString(encoding);
      const masked = withoutSecrets(`Basic ${quoted}.`, [secret]);
      assert.match(masked, /^Basic [^.]{0,6}\*\*\*[^.]{0,6}\.$/, `${quoted} ${masked}`);
    }
});

it('secrets in the text of a provider: base64 is masked where the text begins with it', () => {
  const secret = 'a secret of some length';
  const quoted = Buffer.from(`a:${secret}`).toString('base64');
  assert.equal(withoutSecrets(quoted.slice(3), [secret]), '***==');
});

it('secrets in the text of a provider: one that looks escaped, and one within another, are masked as a whole', () => {
  assert.equal(withoutSecrets('it is 100%41\\u0041!', ['100%41\\u0041']), 'it is ***!');
  assert.equal(withoutSecrets('abc123xyz789, abc123', ['abc123', '123xyz789']), '***, ***');
});

it('withoutSecrets: masks a credential at any place of a long text', () => {
  const filler = 'x '.repeat(20_000);
  assert.equal(withoutSecrets(`${filler}long-secret`, ['long-secret']), `${filler}***`);
});
