/// <reference lib="dom" />
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { skipWithoutChromium, startChromium } from '../support/chromium.js';
import { type Sandbox, startSandbox } from '../support/sandbox.js';
import { waitFor } from '../support/wait-for.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

describe('console: transactions, webhooks and management', { skip: skipWithoutChromium }, () => {
  let sandbox: Sandbox;
  let browser: Browser;
  let page: Page;
  let receiver: Server;
  /** What the receiver of webhooks answers. */
  let answer = 204;

  before(async () => {
    receiver = createServer((request, response) => request.resume().on('end', () => response.writeHead(answer).end('an answer')));
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    // Two blocks a second keep what is sent moving; one retry makes a failed delivery dead soon.
    sandbox = await startSandbox({ SANDBOX_BLOCK_TIME: '1', WEBHOOK_RETRY_SECONDS: '1' });
    browser = await startChromium();
    page = await browser.newPage();
    await signIn(page, sandbox.token);
  });

  after(async () => {
    await browser?.close();
    await sandbox?.stop();
    receiver?.close();
  });

  async function signIn(into: Page, key: string): Promise<void> {
    await into.goto(`${sandbox.url}/console`);
    await into.getByLabel('API key').fill(key);
    await into.getByRole('button', { name: 'Sign in' }).click();
    await into.getByRole('navigation', { name: 'Console' }).waitFor();
  }

  async function open(path: string, heading: string | RegExp): Promise<void> {
    await page.evaluate((hash) => {
      location.hash = hash;
    }, path);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  }

  async function api(verb: string, path: string, body?: object) {
    const response = await fetch(`${sandbox.url}/api/v1${path}`, {
      method: verb,
      headers: { authorization: `Bearer ${sandbox.token}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const { data, error } = (await response.json()) as { data: never; error: string | null };
    assert.equal(error, null);
    return data as Record<string, unknown> & { id: string };
  }

  const dialog = () => page.getByRole('dialog');
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  /** Types the id that a dialog asks for, and confirms. */
  async function confirm(id: string, action: string): Promise<void> {
    await dialog().getByLabel(/^Type/).fill(id);
    await dialog().getByRole('button', { name: action, exact: true }).click();
  }

  it('send: shows the errors of the service at the fields, then sends what the review shows', async () => {
    await open('/relayers/sandbox/send', /^Sandbox ?: Send$/);
    await page.getByLabel('To', { exact: true }).fill('0x1234');
    await page.getByLabel('Gas limit').fill('1');
    await button('Review and send').click();
    await dialog().getByRole('button', { name: 'Send', exact: true }).click();
    const described = (id: string | null) => page.locator(`[id="${id?.split(' ')[0]}"]`).textContent();
    await page.locator('[aria-invalid="true"]').nth(1).waitFor();
    assert.equal(
      await described(await page.getByLabel('To', { exact: true }).getAttribute('aria-describedby')),
      'must be 0x and 40 hex digits',
    );
    assert.match((await described(await page.getByLabel('Gas limit').getAttribute('aria-describedby'))) ?? '', /^must be at least 21000/);
    await page.getByLabel('To', { exact: true }).fill(to);
    await page.getByLabel('Gas limit').fill('');
    await page.getByLabel('Value', { exact: true }).fill('0.250000000000000001');
    await button('Review and send').click();
    await dialog().getByText('0.250000000000000001 ETH').waitFor();
    await dialog().getByText('market, fast', { exact: true }).waitFor();
    await dialog().getByRole('button', { name: 'Send', exact: true }).click();
    const id = await page.getByRole('status').getByRole('link').textContent();
    assert.equal((await api('GET', `/relayers/sandbox/transactions/${id}`)).value, '250000000000000001');
  });

  it('copy as: the curl call does what the form says', async () => {
    await page.getByLabel('Value', { exact: true }).fill('0.5');
    await button('Copy as…').click();
    const call = (await dialog().getByRole('region', { name: 'curl call' }).textContent()) ?? '';
    assert.ok(!call.includes(sandbox.token));
    const sent = JSON.parse(
      execFileSync('sh', ['-c', call], { env: { ...process.env, API_KEY: sandbox.token }, stdio: ['ignore', 'pipe', 'ignore'] }).toString(),
    );
    assert.equal(sent.data.value, '500000000000000000');
    await page.keyboard.press('Escape');
  });

  it('transactions: a list follows the changes, and cancels what is selected', async () => {
    await api('PATCH', '/relayers/sandbox', { policies: { gas_price_cap: 1000 } });
    await open('/relayers/sandbox/transactions', /^Sandbox ?: Transactions$/);
    const ids: string[] = [];
    for (let value = 0; value < 3; value++) ids.push((await api('POST', '/relayers/sandbox/transactions', { to, value })).id);
    // A row that is added moves those below it.
    await page.getByLabel(`Select ${ids[2]}`).waitFor();
    await page.getByLabel(`Select ${ids[0]}`).check();
    await page.getByLabel(`Select ${ids[1]}`).check();
    await button('Cancel selected (2)').click();
    await dialog().getByRole('button', { name: 'Cancel selected', exact: true }).click();
    await page.getByText('Canceled or being canceled: 2.').waitFor();
    await page.locator('tr', { hasText: 'canceled' }).nth(1).waitFor();
    await button('pending').click();
    await page.getByLabel(`Select ${ids[0]}`).waitFor({ state: 'detached' });
    await page.getByLabel(`Select ${ids[2]}`).waitFor();
    assert.match(page.url(), /status=pending$/);
    await button('Cancel all open').click();
    await confirm('sandbox', 'Cancel all');
    await page.getByText('No transaction has one of these statuses.').waitFor();
    await api('PATCH', '/relayers/sandbox', { policies: { gas_price_cap: null } });
  });

  it('webhooks: creates, tests, redelivers all dead deliveries, rotates the key, and deletes', async () => {
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
    await open('/webhooks', 'Webhooks');
    await button('New notification').click();
    await dialog().getByLabel('Id', { exact: true }).fill('hooks');
    await dialog().getByLabel('URL').fill('ftp://nowhere');
    await dialog().getByRole('button', { name: 'Create' }).click();
    await dialog().getByText('must begin with http:// or https://').waitFor();
    await dialog().getByLabel('URL').fill(url);
    await dialog().getByRole('button', { name: 'Create' }).click();
    assert.match((await dialog().locator('.secret code').textContent()) ?? '', /^whsec_[A-Za-z0-9+/]{43}=$/);
    await dialog().getByRole('button', { name: 'Open' }).click();
    answer = 500;
    await button('Test').click();
    await page.getByRole('cell', { name: 'dead' }).waitFor();
    await page.getByRole('button', { name: /^test/ }).click();
    await dialog().getByText('HTTP 500').first().waitFor();
    await dialog().getByRole('region', { name: 'Response' }).first().getByText('an answer').waitFor();
    await dialog().getByRole('region', { name: 'Body' }).getByText('"event": "test"').waitFor();
    await page.keyboard.press('Escape');
    answer = 204;
    await button('Redeliver all dead ones').click();
    await dialog().getByRole('button', { name: 'Redeliver', exact: true }).click();
    await page.getByText('Queued again: 1.').waitFor();
    await page.getByRole('cell', { name: 'delivered' }).waitFor();
    await button('Rotate signing key').click();
    await dialog().getByRole('button', { name: 'Rotate', exact: true }).click();
    await dialog().getByText('for 24 hours').waitFor();
    await dialog().getByRole('button', { name: 'Done' }).click();
    await button('Delete').click();
    await confirm('hooks', 'Delete');
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
  });

  it('management: a signer and a relayer, with policies in their units', async () => {
    await open('/signers', 'Signers');
    await button('New local signer').click();
    await dialog().getByLabel('Id').fill('second');
    await dialog().getByRole('button', { name: 'Create' }).click();
    await dialog().getByRole('button', { name: 'Done' }).click();
    await button('Test second').click();
    await page.getByText(/^second signed, in/).waitFor();
    await open('/relayers', 'Relayers');
    await button('New relayer').click();
    await dialog().getByLabel('Name').fill('Second');
    await dialog().getByLabel('Id', { exact: true }).fill('second');
    await dialog().getByLabel('Network').selectOption('evm:sandbox');
    await dialog().getByLabel('Signer').selectOption('second');
    await dialog().getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { level: 1, name: /^Second ?: Lane$/ }).waitFor();
    await open('/relayers/second/settings', /^Second ?: Settings$/);
    const general = page.locator('form', { hasText: 'General' });
    const saveGeneral = general.getByRole('button', { name: 'Save' });
    assert.ok(await saveGeneral.isDisabled(), 'nothing has changed');
    await general.getByLabel('Name').fill('Third');
    assert.ok(await saveGeneral.isEnabled());
    await general.getByLabel('Name').fill('Second');
    assert.ok(await saveGeneral.isDisabled(), 'everything is as it was');
    const saveEndpoints = page.locator('form', { hasText: 'Own RPC endpoints' }).getByRole('button', { name: 'Save' });
    assert.ok(await saveEndpoints.isDisabled());
    await button('Add an endpoint').click();
    assert.ok(await saveEndpoints.isEnabled());
    await button('Remove endpoint 1').click();
    assert.ok(await saveEndpoints.isDisabled());
    const policies = page.locator('form', { hasText: 'Gas price cap' });
    await policies.getByLabel('Gas price cap in gwei').fill('70.5');
    await policies.getByLabel('Whitelist receivers').fill('0xbad');
    await policies.getByRole('button', { name: 'Save' }).click();
    await policies.getByText('[0] must be 0x and 40 hex digits').waitFor();
    await policies.getByLabel('Whitelist receivers').fill(to);
    await policies.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    const { policies: stored } = await api('GET', '/relayers/second');
    assert.deepEqual(stored, { ...(stored as object), gas_price_cap: 70_500_000_000, whitelist_receivers: [to.toLowerCase()] });
    const endpoints = page.locator('form', { hasText: 'Own RPC endpoints' });
    const shownUrls = async () => (await api('GET', '/relayers/second')).custom_rpc_urls as object[];
    await button('Add an endpoint').click();
    await endpoints.getByLabel('URL').fill('http://127.0.0.1:9/key');
    await endpoints.getByLabel('Headers').fill('X-Api-Key: a:b\n\nHost: c');
    await saveEndpoints.click();
    await endpoints.getByText('Line 2: name is a header that only the service or a proxy sets').waitFor();
    await endpoints.getByLabel('Headers').fill('X-Api-Key: a:b');
    await saveEndpoints.click();
    const shown = await waitFor('the endpoint', async () => (await shownUrls())[0]);
    assert.deepEqual(shown, { url: 'http://127.0.0.1:9/***', weight: 100, headers: [{ name: 'X-Api-Key', value: '***' }] });
    await waitFor('masked headers', async () => (await endpoints.getByLabel('Headers').inputValue()) === 'X-Api-Key: ***' || undefined);
    await button('Remove endpoint 1').click();
    await saveEndpoints.click();
    await waitFor('no endpoint', async () => (await shownUrls()).length === 0 || undefined);
    await button('Delete the relayer').click();
    await confirm('second', 'Delete');
    await page.getByRole('heading', { level: 1, name: 'Relayers' }).waitFor();
    await open('/signers', 'Signers');
    await button('Delete second').click();
    await confirm('second', 'Delete');
    await page.getByText('Deleted: second').first().waitFor();
  });

  it('keys: shows the secret once; the key sees only what its scopes allow; revoking it ends its session', async () => {
    await open('/keys', 'API keys');
    await button('New API key').click();
    await dialog().getByLabel('Name').fill('reader');
    await dialog().getByRole('button', { name: 'Create' }).click();
    const secret = await dialog().locator('.secret code').textContent();
    assert.ok(secret);
    await dialog().getByRole('button', { name: 'Done' }).click();
    const reader = await browser.newPage();
    await signIn(reader, secret);
    assert.deepEqual(await reader.getByRole('navigation', { name: 'Console' }).getByRole('link').allTextContents(), [
      'Overview',
      'Relayers',
      'Approvals',
      'API reference ',
    ]);
    await reader.evaluate(() => {
      location.hash = '/keys';
    });
    await reader.getByText('This API key lacks the scope for this page.').waitFor();
    await button('Rotate reader').click();
    await dialog().getByLabel('Overlap seconds').fill('3600');
    await dialog().getByRole('button', { name: 'Rotate' }).click();
    const rotated = await dialog().locator('.secret code').textContent();
    assert.ok(rotated && rotated !== secret);
    await dialog().getByRole('button', { name: 'Done' }).click();
    await button('Revoke reader').click();
    await confirm((await dialog().locator('label code').textContent()) ?? '', 'Revoke');
    await page.getByText('Revoked: reader').waitFor();
    await reader.getByLabel('API key').waitFor();
    await reader.close();
  });

  it('networks and instances: show what the service refuses', async () => {
    await open('/networks', 'Networks');
    await button('Edit the RPC endpoints of sandbox-solana').waitFor();
    const unused = button('Edit the RPC endpoints of sepolia');
    assert.equal(await unused.count(), 0, 'a network without relayers takes no room');
    await page.getByText(/^\d+ networks without relayers$/).click();
    await unused.click();
    await dialog().getByLabel('URL').first().fill('https://another.example.com/***');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await dialog().getByText('is masked; send the complete URL').first().waitFor();
    await page.keyboard.press('Escape');
    await open('/instances', 'Instances');
    await page.getByRole('button', { name: /^Drain/ }).click();
    await confirm((await dialog().locator('label code').textContent()) ?? '', 'Drain');
    await dialog().getByRole('alert').getByText('INSTANCE_ALONE').waitFor();
    await page.keyboard.press('Escape');
  });

  it('an idle lane: its next number is not used yet; only a relayer on EVM is searched by nonce', async () => {
    await open('/relayers/sandbox-stellar/lane', /^Sandbox on Stellar ?: Lane$/);
    await page.getByText(/^sequence number \d+ · not used yet$/).waitFor();
    await page.getByLabel('Find by transaction id', { exact: true }).waitFor();
    await open('/relayers/sandbox/lane', /^Sandbox ?: Lane$/);
    await page.getByLabel('Find by transaction id or nonce', { exact: true }).waitFor();
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`accessibility: every view passes axe, in ${colorScheme} and on a phone, without a horizontal scroll bar`, async () => {
      const phone = await browser.newPage({ colorScheme, viewport: { width: 360, height: 740 } });
      await signIn(phone, sandbox.token);
      await phone.evaluate(axe.source);
      const views = [
        '',
        'sandbox/transactions',
        'sandbox/send',
        'sandbox-stellar/send',
        'sandbox-solana/send',
        'sandbox/sign',
        'sandbox/settings',
      ];
      for (const path of [
        ...views.map((view) => `/relayers/${view}`),
        '/webhooks',
        '/webhooks/sandbox-webhook',
        '/networks',
        '/signers',
        '/keys',
        '/instances',
      ]) {
        await phone.evaluate((hash) => {
          location.hash = hash;
        }, path);
        await phone.locator('.loading').waitFor({ state: 'detached' });
        const found = await phone.evaluate(async () => {
          // biome-ignore lint/suspicious/noExplicitAny: axe-core puts itself there.
          const { violations } = await (globalThis as any).axe.run();
          const scroller = document.documentElement;
          return {
            violations: violations.map(({ id, nodes }: { id: string; nodes: { html: string }[] }) => `${id}: ${nodes[0]?.html}`),
            excess: scroller.scrollWidth - innerWidth,
          };
        });
        assert.deepEqual(found, { violations: [], excess: 0 }, path);
      }
      await phone.close();
    });
  }
});
