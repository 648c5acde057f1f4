import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { skipWithoutChromium, startChromium } from '../../support/chromium.js';
import { openConsole } from '../../support/console-page.js';
import { type ConsoleRig, payee, startConsoleRig } from '../../support/console-rig.js';

const otherPayee = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';

describe('the approvals of the console', { skip: skipWithoutChromium }, () => {
  let rig: ConsoleRig;
  let browser: Browser;
  let alice: { readonly id: string; readonly key: string };

  before(async () => {
    [rig, browser] = await Promise.all([startConsoleRig(), startChromium()]);
    const scopes = ['transactions:read', 'transactions:approve'];
    alice = (await rig.call('POST', '/api-keys', { name: 'alice', scopes })).body.data;
    for (const relayer of ['payouts', 'treasury']) {
      const rules = [{ id: 'large', effect: 'approve', approvals: 2 }];
      const { status } = await rig.call('PATCH', `/relayers/${relayer}`, { policies: { rules } });
      assert.equal(status, 200);
    }
  });
  after(async () => {
    await browser?.close();
    await rig?.stop();
  });

  const recordOf = async (relayer: string, id: string) => (await rig.call('GET', `/relayers/${relayer}/transactions/${id}`)).body.data;

  async function openApprovals(key: string): Promise<{ readonly page: Page; readonly rowOf: (id: string) => ReturnType<Page['locator']> }> {
    const console = await openConsole(browser, { baseUrl: rig.baseUrl, key });
    const { page } = console;
    await page.getByRole('link', { name: 'Approvals', exact: true }).click();
    await page.getByRole('heading', { name: 'Approvals', level: 1 }).waitFor();
    const rowOf = (id: string) => page.getByRole('row').filter({ has: page.getByTitle(id) });
    return { page, rowOf };
  }

  it('lists what waits of all relayers, and approves what it shows', async () => {
    const [small, large] = [await rig.send('payouts', { value: 5 }), await rig.send('treasury', { value: 7 })];
    const { page, rowOf } = await openApprovals(alice.key);
    for (const [id, relayer] of [
      [small, 'Payouts'],
      [large, 'Treasury'],
    ] as const) {
      const row = rowOf(id);
      await row.waitFor();
      for (const text of [relayer, 'bootstrap', '0 of 2']) await row.getByText(text).first().waitFor();
    }
    await rowOf(large).getByRole('button', { name: 'Review' }).click();
    const dialog = page.getByRole('dialog', { name: 'Decide about a transaction' });
    for (const text of [payee, large, 'large', 'Treasury']) await dialog.getByText(text, { exact: true }).first().waitFor();
    await dialog.getByRole('button', { name: 'Approve', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await rowOf(large).getByText(`1 of 2: ${alice.id}`).waitFor();
    const { approval } = await recordOf('treasury', large);
    assert.deepEqual(
      approval.given.map(({ api_key_id }: { api_key_id: string }) => api_key_id),
      [alice.id],
    );
    assert.deepEqual((await recordOf('payouts', small)).approval.given, []);
  });

  it('does not decide about content that has changed since it was shown, and rejects what it shows', async () => {
    const id = await rig.send('payouts', { value: 9 });
    const { page, rowOf } = await openApprovals(alice.key);
    await rowOf(id).getByRole('button', { name: 'Review' }).click();
    const dialog = page.getByRole('dialog', { name: 'Decide about a transaction' });
    const replaced = await rig.call('PUT', `/relayers/payouts/transactions/${id}`, { to: otherPayee, value: 900, gas_limit: 21_000 });
    assert.equal(replaced.status, 200, JSON.stringify(replaced.body));
    for (const name of ['Approve', 'Reject']) {
      await dialog.getByRole('button', { name, exact: true }).click();
      await dialog
        .getByText(/revision/)
        .first()
        .waitFor();
    }
    const { approval, status } = await recordOf('payouts', id);
    assert.deepEqual([status, approval.given], ['pending', []]);
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await rowOf(id).getByRole('button', { name: 'Review' }).click();
    await dialog.getByText(otherPayee, { exact: true }).first().waitFor();
    await dialog.getByRole('button', { name: 'Reject', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await rowOf(id).waitFor({ state: 'detached' });
    const after = await recordOf('payouts', id);
    assert.deepEqual([after.status, after.approval.rejected.api_key_id], ['canceled', alice.id]);
  });

  it('shows a key that may only read what waits, without a decision', async () => {
    const id = await rig.send('payouts', { value: 5 });
    const { page, rowOf } = await openApprovals(rig.keys.reader);
    await rowOf(id).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Review' }).count(), 0);
  });
});
