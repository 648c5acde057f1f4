import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { it } from 'node:test';
import { signatureHeaders } from '../../src/webhooks/sign-delivery.js';

const body = Buffer.from('{"id":"e","payload":{"text":"ü"}}');
const tried = { id: '0190', body, timestampSeconds: 1_700_000_000, retiredKeys: [] };

it('adds no signature without a key', () => {
  assert.deepEqual(signatureHeaders({ ...tried, signingKey: null }), { 'webhook-id': '0190', 'webhook-timestamp': '1700000000' });
});

it('signs with the bytes of the key text', () => {
  const headers = signatureHeaders({ ...tried, signingKey: 'a plain key' });
  const signed = Buffer.concat([Buffer.from('0190.1700000000.'), body]);
  assert.equal(headers['x-signature'], createHmac('sha256', 'a plain key').update(body).digest('base64'));
  assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', 'a plain key').update(signed).digest('base64')}`);
});

it('signs webhook-signature with the decoded whsec_ key and X-Signature with the key text', () => {
  const signingKey = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
  const headers = signatureHeaders({ ...tried, signingKey });
  const signed = Buffer.concat([Buffer.from('0190.1700000000.'), body]);
  assert.equal(headers['x-signature'], createHmac('sha256', signingKey).update(body).digest('base64'));
  assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', Buffer.alloc(32, 9)).update(signed).digest('base64')}`);
});

it('matches the example of the Standard Webhooks specification', () => {
  const headers = signatureHeaders({
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    body: Buffer.from('{"test": 2432232314}'),
    timestampSeconds: 1_614_265_330,
    signingKey: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    retiredKeys: [],
  });
  assert.equal(headers['webhook-signature'], 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});
