import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { loadSettings } from '../../src/config/settings.js';
import { weakSettings } from '../../src/config/weak-settings.js';

const strong = { API_KEY: randomBytes(32).toString('hex'), STORAGE_ENCRYPTION_KEY: randomBytes(32).toString('base64') };

for (const [env, name] of [
  [{}, null],
  [{ API_KEY: 'a'.repeat(64) }, 'API_KEY'],
  [{ STORAGE_ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') }, 'STORAGE_ENCRYPTION_KEY'],
  [{ HOST: '0.0.0.0' }, 'HOST'],
  [{ HOST: '::' }, 'HOST'],
  [{ HOST: '127.0.0.2' }, null],
  [{ HOST: 'localhost' }, null],
  [{ HOST: '0.0.0.0', TLS_CERT_FILE: 'a', TLS_KEY_FILE: 'b' }, null],
  [{ WEBHOOK_ALLOW_PRIVATE: 'true' }, 'WEBHOOK_ALLOW_PRIVATE'],
] as const) {
  it(`weak settings: ${JSON.stringify(env)} ${name === null ? 'is strong' : `is weak, and the sentence names ${name} without a secret`}`, () => {
    const all = { ...strong, ...env };
    const weak = weakSettings(loadSettings(all));
    assert.equal(weak.length, name === null ? 0 : 1, weak.join());
    if (name !== null) assert.ok(weak[0]?.startsWith(name), weak[0]);
    for (const secret of [all.API_KEY, all.STORAGE_ENCRYPTION_KEY]) assert.ok(!weak.join().includes(secret));
  });
}
