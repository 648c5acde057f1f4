import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type AppRig, startAppRig } from '../../../../support/app-rig.js';
import { skipWithoutChromium, startChromium } from '../../../../support/chromium.js';
import { apiKey } from '../../../../support/service.js';

let rig: AppRig;
before(async () => {
  rig = await startAppRig();
});
after(() => rig.stop());

describe('the reference page', () => {
  it('the reference page: loads all assets from this service, with and without a trailing slash', async () => {
    for (const path of ['/docs', '/docs/']) {
      const answer = await rig.ask('GET', path, { headers: { authorization: undefined } });
      assert.equal(answer.status, 200);
      assert.match(String(answer.headers['content-security-policy']), /default-src 'none'/);
      assert.ok(!/<script>|<style|style=|https?:/.test(answer.text), answer.text);
      for (const [, asset] of answer.text.matchAll(/(?:src|href)="([^"]+)"/g)) {
        const got = await rig.ask('GET', String(asset), { headers: { authorization: undefined } });
        assert.equal(got.status, 200, asset);
        assert.ok(got.headers.etag, asset);
        assert.equal(got.headers['x-content-type-options'], 'nosniff');
      }
    }
  });

  it('the reference page: the address of the service redirects a browser to it, without a key', async () => {
    const answer = await rig.ask('GET', '/', { headers: { authorization: undefined } });
    assert.equal(answer.status, 302);
    assert.equal(answer.headers.location, '/docs');
  });

  it('the reference page: serves no other file of its packages', async () => {
    for (const path of [
      '/docs/package.json',
      '/docs/swagger-ui-bundle.js.map',
      '/docs/..%2Fpackage.json',
      '/docs/../package.json',
      '/docs/',
    ]) {
      const { status } = await rig.ask('GET', path);
      assert.equal(status, path === '/docs/' ? 200 : 404, path);
    }
    assert.equal((await rig.ask('POST', '/docs')).status, 405);
  });
});

describe('the reference page in a browser', { skip: skipWithoutChromium }, () => {
  let browser: Browser;
  before(async () => {
    browser = await startChromium();
  });
  after(() => browser?.close());

  it('the reference page in a browser: sends a request with the entered key, shows the response, and contacts no other host', async () => {
    const page = await browser.newPage();
    const asked: string[] = [];
    const complaints: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${rig.baseUrl}/docs`);

    await page.getByRole('button', { name: 'Authorize' }).first().click();
    await page.locator('.modal-ux input').fill(apiKey);
    await page.locator('.modal-ux .authorize[type=submit]').click();
    await page.locator('.modal-ux .btn-done').click();

    const operation = await open(page, 'Transaction', 'sendTransaction');
    await operation.locator('tr[data-param-name=relayer_id] input').fill('r1');
    await operation.getByRole('button', { name: 'Execute' }).click();
    const answer = operation.locator('.live-responses-table');
    await answer.locator('.response-col_status', { hasText: '200' }).waitFor();
    assert.match((await answer.textContent()) ?? '', /"status": "pending"/);
    const listed = JSON.parse((await rig.ask('GET', '/api/v1/relayers/r1/transactions')).text);
    assert.equal(listed.data[0].value, '1000000000000000000');

    assert.deepEqual(complaints, [], 'the content security policy allows everything that the page needs');
    assert.ok(asked.length > 4);
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(`${rig.baseUrl}/`) && !url.startsWith('data:')),
      [],
    );
  });

  it('the reference page in a browser: shows every operation in the group of its service, and recursive schemas', async () => {
    const page = await browser.newPage({ colorScheme: 'dark' });
    await page.goto(`${rig.baseUrl}/docs`);
    await page.locator('.opblock').first().waitFor();
    const { paths, webhooks } = JSON.parse((await rig.ask('GET', '/openapi.json')).text) as Record<string, Record<string, object>>;
    const all = [...Object.values(paths ?? {}), ...Object.values(webhooks ?? {})].flatMap(Object.keys);
    assert.equal(await page.locator('.opblock').count(), all.length);
    const operation = await open(page, 'Transaction', 'replaceTransaction');
    await operation.getByText('Schema', { exact: true }).first().click();
    await operation.getByText('StellarTransactionRequest').first().click();
    await operation.getByText('operations', { exact: true }).first().waitFor();
    assert.equal(await page.evaluate('document.documentElement.classList.contains("dark-mode")'), true);
  });
});

async function open(page: Page, group: string, id: string) {
  const operation = page.locator(`#operations-${group}-${id}`);
  await operation.locator('.opblock-summary-control').click();
  await operation.locator('.opblock-body').waitFor();
  return operation;
}
