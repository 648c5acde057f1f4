import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { skipWithoutChromium, startChromium } from '../../support/chromium.js';
import { type ConsolePage, openConsole } from '../../support/console-page.js';
import { type ConsoleRig, payee, startConsoleRig } from '../../support/console-rig.js';
import { waitFor } from '../../support/wait-for.js';

const otherPayee = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';

describe('the actions of the console', { skip: skipWithoutChromium }, () => {
  let rig: ConsoleRig;
  let browser: Browser;
  let console: ConsolePage;
  let page: Page;

  before(async () => {
    [rig, browser] = await Promise.all([startConsoleRig(), startChromium()]);
    console = await openConsole(browser, { baseUrl: rig.baseUrl, key: rig.keys.all });
    page = console.page;
  });
  after(async () => {
    await browser?.close();
    await rig?.stop();
  });

  /** Sends a transaction of `treasury`, and opens it when the node has it. */
  async function openSubmitted(value: number): Promise<string> {
    const id = await rig.send('treasury', { value });
    await broadcast(id, 1);
    await console.visit({
      location: `#/relayers/treasury/transactions/${id}`,
      loaded: () => page.getByRole('region', { name: 'Status' }).getByText(id),
    });
    await page.getByRole('row', { name: /newest/ }).waitFor();
    return id;
  }

  const recordOf = async (id: string) => (await rig.call('GET', `/relayers/treasury/transactions/${id}`)).body.data;
  const attemptsOf = async (id: string) => (await rig.call('GET', `/relayers/treasury/transactions/${id}/attempts`)).body.data;
  /** Waits until the node has the newest attempt. The record is `submitted` from the first one on. */
  const broadcast = (id: string, attempts: number) =>
    waitFor(`attempt ${attempts} of ${id} at the node`, async () => {
      const all = await attemptsOf(id);
      return all.length === attempts && (await onChain(all[0].hash)) !== null ? all[0] : undefined;
    });
  const onChain = async (hash: string) =>
    (await rig.anvil.rpc('eth_getTransactionByHash', [hash])) as { blockNumber: string | null; to: string; value: string; from: string };

  /** Mines, and waits until the page shows that the transaction is final. Returns what the chain has in its slot. */
  async function mine(id: string) {
    await rig.anvil.mine(3);
    const { hash, status } = await waitFor(`${id} to be final`, async () => {
      const record = await recordOf(id);
      return record.status === 'confirmed' || record.status === 'canceled' ? record : undefined;
    });
    await page
      .getByRole('region', { name: 'Status' })
      .getByText(/^(Confirmed|Canceled)$/)
      .waitFor();
    return { status, mined: await onChain(hash) };
  }

  it('replace by click: the dialog has the minimum, and the replacement is mined instead', async () => {
    const id = await openSubmitted(5);
    const [first] = await attemptsOf(id);
    const minimum = (wei: string) => (BigInt(wei) * 11n) / 10n + 1n;
    await page.getByRole('button', { name: 'Replace', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Replace the transaction' });
    const weiOf = async (label: string) => gweiInWei(await dialog.getByLabel(label, { exact: true }).inputValue());
    assert.equal(await weiOf('Max fee per gas'), minimum(first.max_fee_per_gas));
    assert.equal(await weiOf('Priority fee per gas'), minimum(first.max_priority_fee_per_gas));
    assert.equal(await dialog.getByLabel('To', { exact: true }).inputValue(), payee);

    await dialog.getByLabel('To', { exact: true }).fill(otherPayee);
    await dialog.getByLabel('Unit of Value').selectOption('wei');
    await dialog.getByLabel('Value', { exact: true }).fill('6');
    await dialog.getByRole('button', { name: 'Replace', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('row', { name: /^#2 newest/ }).waitFor();
    await broadcast(id, 2);

    const { mined, status } = await mine(id);
    assert.equal(status, 'confirmed');
    assert.deepEqual([mined.to.toLowerCase(), BigInt(mined.value)], [otherPayee.toLowerCase(), 6n]);
    assert.equal((await onChain(first.hash))?.blockNumber ?? null, null, 'the first attempt is in no block');
    const { to, value } = await recordOf(id);
    assert.deepEqual([to, value], [otherPayee, '6']);
  });

  it('replace by click: if the bid is too low, the dialog shows the sentence of the service and takes the stated minimum', async () => {
    const id = await openSubmitted(7);
    await page.getByRole('button', { name: 'Replace', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Replace the transaction' });
    const fee = dialog.getByLabel('Max fee per gas', { exact: true });
    const minimum = await fee.inputValue();
    await fee.fill('2');
    await dialog.getByRole('button', { name: 'Replace', exact: true }).click();
    await dialog
      .getByText(/minimum/i)
      .first()
      .waitFor();
    await dialog.getByRole('button', { name: "Use the service's minimum" }).click();
    assert.equal(await fee.inputValue(), minimum);
    await dialog.getByRole('button', { name: 'Replace', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await broadcast(id, 2);
    assert.equal((await mine(id)).status, 'confirmed');
  });

  it('speed up by click: the same content is mined at a higher bid', async () => {
    const id = await openSubmitted(8);
    const [first] = await attemptsOf(id);
    await page.getByRole('button', { name: 'Speed up', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Speed up the transaction' });
    await dialog.getByRole('radio', { name: /^Minimum/ }).check();
    await dialog.getByRole('button', { name: 'Speed up', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    const second = await broadcast(id, 2);
    assert.equal(BigInt(second.max_fee_per_gas), (BigInt(first.max_fee_per_gas) * 11n) / 10n + 1n);
    const { mined, status } = await mine(id);
    assert.equal(status, 'confirmed');
    assert.deepEqual([mined.to.toLowerCase(), BigInt(mined.value)], [payee.toLowerCase(), 8n]);
    assert.equal((await recordOf(id)).hash, second.hash);
  });

  it('cancel by click: the id must be typed, and a self-transfer is mined instead', async () => {
    const id = await openSubmitted(9);
    await page.getByRole('button', { name: 'Cancel transaction', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel the transaction' });
    const confirm = dialog.getByRole('button', { name: 'Cancel transaction', exact: true });
    assert.ok(await confirm.isDisabled(), 'nothing is canceled before the id is typed');
    await dialog.getByLabel(/^Type/).fill(id);
    await confirm.click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await broadcast(id, 2)).purpose, 'cancel');
    const { mined, status } = await mine(id);
    assert.equal(status, 'canceled');
    assert.deepEqual([mined.to, mined.from, BigInt(mined.value)], [mined.from, rig.addressOf('treasury').toLowerCase(), 0n]);
  });

  it('a transaction: its page has the id of its trace, to copy, and nothing of the kind without one', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
    const { body } = await rig.call('POST', '/relayers/payouts/transactions', { to: payee, value: 1 }, { traceparent });
    const status = page.getByRole('region', { name: 'Status' });
    const open = (id: string) =>
      console.visit({ location: `#/relayers/payouts/transactions/${id}`, loaded: () => status.getByText(id, { exact: true }) });

    await open(body.data.id);
    await status.getByText(traceId, { exact: true }).waitFor();
    await console.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await status.getByRole('button', { name: 'Copy trace id' }).click();
    await page.getByText('Copied: trace id').waitFor();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), traceId);

    await open(await rig.send('payouts'));
    assert.doesNotMatch((await status.textContent()) ?? '', /trace/i);
  });

  it('redeliver by click: a dead delivery shows its body, is posted again, and so are all that are dead', async () => {
    // The transactions of the tests above made events, which the receiver rejects.
    const dead = async () =>
      ((await rig.call('GET', '/notifications/audit/deliveries?per_page=100')).body.data as { id: string; status: string }[]).filter(
        ({ status }) => status === 'dead',
      );
    const all = await waitFor('dead deliveries', async () => {
      const found = await dead();
      return found.length > 3 ? found : undefined;
    });
    await console.visit({ location: '#/webhooks/audit', loaded: () => page.getByRole('row', { name: /dead/ }).first() });
    const [one] = all;
    assert.ok(one);
    await page.getByRole('button', { name: new RegExp(one.id) }).click();
    const dialog = page.getByRole('dialog', { name: 'Delivery' });
    await dialog.getByText('HTTP 503').first().waitFor();
    await dialog.getByText('the ledger is closed').first().waitFor();
    const shown = JSON.parse((await dialog.getByRole('region', { name: 'Body' }).textContent()) ?? '');
    assert.deepEqual([shown.id, shown.payload.payload_type], [one.id, 'transaction']);

    const postsOf = (id: string) => rig.receiver.requests.filter(({ headers }) => headers['webhook-id'] === id).length;
    const before = postsOf(one.id);
    assert.equal(before, 2);
    rig.rejectAudit(false);
    await dialog.getByRole('button', { name: 'Redeliver', exact: true }).click();
    await waitFor('the delivery at the receiver', () => (postsOf(one.id) === before + 1 ? true : undefined));
    await waitFor('the delivery to be delivered', async () => ((await dead()).some(({ id }) => id === one.id) ? undefined : true));
    await page.keyboard.press('Escape');
    await page.getByRole('row', { name: new RegExp(`${one.id}.*delivered`, 's') }).waitFor();

    const rest = await dead();
    assert.ok(rest.length > 2);
    await page.getByRole('button', { name: 'Redeliver all dead ones' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Redeliver', exact: true }).click();
    await page.getByText(`Queued again: ${rest.length}.`).waitFor();
    await waitFor('all of them at the receiver', () => (rest.every(({ id }) => postsOf(id) === 3) ? true : undefined));
    await waitFor('all to be delivered', async () => ((await dead()).length === 0 ? true : undefined));
    // The browser itself reports the refused replacement.
    assert.deepEqual(
      console.complaints.filter((text) => !text.includes('the server responded with a status of 400')),
      [],
    );
  });
});

function gweiInWei(text: string): bigint {
  const [whole = '0', part = ''] = text.split('.');
  return BigInt(whole + part.padEnd(9, '0'));
}
