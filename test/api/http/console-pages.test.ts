import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type AppRig, startAppRig } from '../../support/app-rig.js';

let rig: AppRig;
before(async () => {
  rig = await startAppRig();
});
after(() => rig.stop());

const withoutKey = { headers: { authorization: undefined } };
const assets = ['/console/console.js', '/console/console.css'];

describe('the pages of the console', () => {
  it('the pages of the console: load all assets from this service, with and without a trailing slash, and nothing inline', async () => {
    for (const path of ['/console', '/console/']) {
      const answer = await rig.ask('GET', path, withoutKey);
      assert.equal(answer.status, 200);
      assert.match(String(answer.headers['content-security-policy']), /^default-src 'none'; script-src 'self'; style-src 'self';/);
      assert.equal(answer.headers['referrer-policy'], 'no-referrer');
      assert.ok(!/<script>|<style|style=|https?:/.test(answer.text), answer.text);
      for (const [, asset] of answer.text.matchAll(/(?:src|href)="([^"]+)"/g)) {
        const got = await rig.ask('GET', String(asset), withoutKey);
        assert.equal(got.status, 200, asset);
        assert.ok(got.headers.etag, asset);
        assert.equal(got.headers['x-content-type-options'], 'nosniff');
      }
    }
  });

  it('the pages of the console: script and style are at most 130,000 bytes compressed', async () => {
    const sizes = await Promise.all(
      assets.map(async (path) => gzipSync((await rig.ask('GET', path, withoutKey)).text, { level: 9 }).length),
    );
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= 130_000, assets.map((asset, index) => `${asset}: ${sizes[index]}`).join(', '));
  });

  it('the pages of the console: serve no source map', async () => {
    for (const asset of assets) {
      assert.doesNotMatch((await rig.ask('GET', asset, withoutKey)).text, /sourceMappingURL/);
      assert.equal((await rig.ask('GET', `${asset}.map`)).status, 404);
    }
  });
});
