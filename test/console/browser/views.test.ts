import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Browser, Page, Request } from 'playwright-core';
import { skipWithoutChromium, startChromium } from '../../support/chromium.js';
import { type ConsolePage, openConsole, routePatterns, viewsOf } from '../../support/console-page.js';
import { type ConsoleRig, startConsoleRig } from '../../support/console-rig.js';
import { type ConsoleWorld, fillConsole } from '../../support/console-world.js';
import { restClient } from '../../support/rest-client.js';
import { startTcpProxy } from '../../support/tcp-proxy.js';
import { waitFor } from '../../support/wait-for.js';

/** A change must be in the page after a second; tests run beside others. */
const visibleWithinMs = 3_000;

/** Script and style together, compressed. */
const maxBundleBytes = 130_000;

describe('the console: its files', { skip: skipWithoutChromium }, () => {
  it('the console: script and style have at most 130,000 bytes compressed', (test) => {
    const sizes = ['console.js', 'console.css'].map((name) => gzipSync(readFileSync(`dist/console/${name}`)).length);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    test.diagnostic(`script and style: ${sizes.map((size) => (size / 1024).toFixed(1)).join(' and ')} KB compressed`);
    assert.ok(total <= maxBundleBytes, `${total} bytes`);
  });
});

describe('the console in a browser', { skip: skipWithoutChromium }, () => {
  let rig: ConsoleRig;
  let world: ConsoleWorld;
  let browser: Browser;

  before(async () => {
    [rig, browser] = await Promise.all([startConsoleRig(), startChromium()]);
    world = await fillConsole(rig);
  });
  after(async () => {
    await browser?.close();
    await rig?.stop();
  });

  const signedIn = (options: Partial<Parameters<typeof openConsole>[1]> = {}): Promise<ConsolePage> =>
    openConsole(browser, { baseUrl: rig.baseUrl, key: rig.keys.all, ...options });

  /** A page that has been in every view, for all tests that only look at what it did there. */
  let walking: Promise<Walk> | undefined;
  const walked = (): Promise<Walk> => {
    walking ??= walk();
    return walking;
  };
  async function walk(): Promise<Walk> {
    const console = await signedIn();
    const controls: Control[] = [];
    const withKey: string[] = [];
    for (const view of viewsOf(world)) {
      await console.visit(view);
      controls.push(...(await controlsOf(console.page)));
      if (String(await console.page.evaluate(everythingInPage)).includes(rig.keys.all)) withKey.push(view.name);
    }
    await console.visit({ location: '#/nowhere', loaded: (page) => page.getByRole('heading', { name: 'No such page' }) });
    return { console, controls, withKey };
  }

  it('the console: these tests know all of its views', () => {
    assert.deepEqual(
      viewsOf(world).map(({ pattern }) => pattern),
      routePatterns(),
    );
  });

  it('the console: shows a send in the overview, in the lane and in the list of transactions within a second', async (test) => {
    const { page, visit, close } = await signedIn();
    const views = viewsOf(world);
    const looks: readonly (readonly [name: string, state: string])[] = [
      ['overview', overviewCounts],
      ['lane', laneCounts],
      ['transactions', newestTransaction],
    ];
    for (const [name, state] of looks) {
      const view = views.find((each) => each.name === name);
      assert.ok(view);
      await visit(view);
      const tookMs = (await page.evaluate(sendAndLook('payouts', rig.keys.all, state))) as number;
      test.diagnostic(`${name}: ${tookMs.toFixed(0)} ms from the response of the service to the change in the page`);
      assert.ok(tookMs < visibleWithinMs, `${name}: ${tookMs} ms`);
    }
    await close();
  });

  it('the console: a jammed lane shows why, in the overview and in the lane', async () => {
    const { page, visit, close } = await signedIn();
    const [overview] = viewsOf(world);
    assert.ok(overview);
    await visit(overview);
    const jams = [
      { relayer: 'refused', row: /Bridge/, why: /the node answered "sender is not on the allow list of this node"/ },
      { relayer: 'poor', row: /Faucet/, why: /insufficient balance: the account has 1000000000000000000 wei/ },
      { relayer: 'capped', row: /Mint/, why: /base fee 10\.5\d* gwei is above gas_price_cap 10 gwei; will send when it falls/ },
    ];
    for (const { row, why } of jams) {
      const shown = page.getByRole('row', { name: row });
      assert.match((await shown.textContent()) ?? '', why);
      await shown.getByText('held up', { exact: true }).waitFor();
    }
    for (const { relayer, why } of jams) {
      const verdict = page.getByRole('region', { name: 'What the lane waits for' });
      await visit({ location: `#/relayers/${relayer}/lane`, loaded: () => verdict });
      assert.match((await verdict.textContent()) ?? '', why);
    }
    await close();
  });

  it('the console: a row of the list of transactions has one line, whose title is the whole reason; the transaction has it too', async () => {
    const { page, visit, close } = await signedIn({ width: 1440 });
    const named = (name: string) => viewsOf(world).find((view) => view.name === name);
    const [list, transaction] = [named('transactions'), named('transaction')];
    assert.ok(list !== undefined && transaction !== undefined);
    await visit(list);
    const heights = (await page.evaluate(`[...document.querySelectorAll('tbody tr')].map(({ offsetHeight }) => offsetHeight)`)) as number[];
    assert.ok(heights.length > 20 && Math.max(...heights) < 50, heights.join());
    const row = page.getByRole('row', { name: new RegExp(`^Select ${world.stuck}`) });
    const reason = (await row.locator('[data-title="Reason"] [title]').getAttribute('title')) ?? '';
    assert.match(reason, /^waiting: no RPC node has accepted it; .*base fee/);
    await visit(transaction);
    await page.getByRole('region', { name: 'Status' }).getByText(reason, { exact: true }).waitFor();
    await close();
  });

  it('the console: without a connection it says from when its data is, until it is connected again', async (test) => {
    const proxy = await startTcpProxy(Number(new URL(rig.baseUrl).port));
    test.after(() => proxy.stop());
    const signedInMs = Date.now();
    const { page, close } = await signedIn({ baseUrl: `http://127.0.0.1:${proxy.port}` });
    const relayer = page.getByRole('row', { name: /Payouts/ });
    await relayer.waitFor();
    const note = page.getByText('Connection lost');
    assert.equal(await note.count(), 0);
    proxy.fateOf(() => 'cut before');
    proxy.cut();
    const cutMs = Date.now();
    await note.waitFor();
    const [, shown] = /^Connection lost; the data below is from (\d\d:\d\d:\d\d)\.$/.exec((await note.textContent()) ?? '') ?? [];
    const seconds = Array.from({ length: Math.ceil((cutMs - signedInMs) / 1_000) + 1 }, (_, index) => signedInMs + index * 1_000);
    const possible = seconds.map((ms) => new Date(ms).toISOString().slice(11, 19));
    assert.ok(possible.includes(shown ?? ''), `${shown} is not among ${possible}`);
    assert.ok(await relayer.isVisible());
    proxy.fateOf(() => 'pass');
    await note.waitFor({ state: 'detached' });
    await page.getByText('live', { exact: true }).waitFor();
    await close();
  });

  it('the console: a page in the background gives up its streams after ten seconds, and opens them again in the foreground', async (test) => {
    const { page, close } = await signedIn();
    test.after(close);
    const isOverview = (request: Request) => request.url().endsWith('/WatchOverview');
    const setHidden = (isHidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
        document.dispatchEvent(new Event('visibilitychange'))`);
    await page.clock.install();
    const given = page.waitForEvent('requestfailed', isOverview);
    await setHidden(true);
    await page.clock.runFor(10_000);
    await given;
    const opened = page.waitForRequest(isOverview);
    await setHidden(false);
    await opened;
  });

  it('the console: a key that only reads sees no action in any view, and the service refuses each of them', async () => {
    // With all scopes, so that this list has the names that the page uses.
    const { controls: all } = await walked();
    assert.deepEqual(
      actions.filter((action) => !all.some((control) => isAction(control, action))),
      [],
      'every action of the list is in a view',
    );

    const reader = await signedIn({ key: rig.keys.reader });
    for (const view of viewsOf(world)) {
      const loaded = view.isForReaders ? view.loaded : (page: Page) => page.getByRole('heading', { name: 'Not allowed' });
      await reader.visit({ location: view.location, loaded });
      const controls = await controlsOf(reader.page);
      assert.deepEqual(
        controls.filter((control) => actions.some((action) => isAction(control, action))),
        [],
        view.name,
      );
      // Whatever else can be pressed only finds, shows, copies or signs out.
      assert.deepEqual(
        controls.filter(({ role, name }) => role !== 'link' && !harmless.some((known) => known.test(name))),
        [],
        view.name,
      );
    }
    assert.deepEqual(reader.complaints, []);
    await reader.close();

    const refused = restClient(() => rig.baseUrl, rig.keys.reader);
    for (const { call } of actions) {
      if (call === undefined) continue;
      const [verb, path, body] = call(world);
      const { status, reason } = await refused(verb, path, body);
      assert.deepEqual([status, reason], [403, 'SCOPE_MISSING'], `${verb} ${path}`);
    }
  });

  it('the console: violates no content security policy, and contacts nothing but the service', async () => {
    const { console } = await walked();
    const { page, requests, complaints } = console;
    assert.deepEqual([...complaints], []);
    assert.deepEqual(
      requests.filter((url) => !url.startsWith(`${rig.baseUrl}/`) && !url.startsWith('data:')),
      [],
    );
    assert.ok(requests.length > viewsOf(world).length, 'the requests were seen');
    // The policy is in force, and violations are seen.
    await page.evaluate(`document.body.append(Object.assign(document.createElement('script'), { textContent: '1' }))`);
    await waitFor('the report of a violation', () =>
      complaints.some((text) => text.startsWith('violation of script-src')) ? true : undefined,
    );
  });

  it('the console: keeps the key in memory only; a reload and a sign-out forget it', async () => {
    const { console, withKey } = await walked();
    const { page, context } = console;
    const key = rig.keys.all;
    const kept = async () =>
      JSON.stringify([
        await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state])'),
        await page.evaluate('indexedDB.databases().then((all) => all.length)'),
        await page.evaluate(everythingInPage),
        await context.cookies(),
        await context.storageState(),
      ]);
    assert.deepEqual(withKey, [], 'no view has the key in its elements, its fields or its address');
    const before = await kept();
    assert.ok(!before.includes(key));
    assert.ok(before.includes('No such page'), 'the page was read');
    assert.equal(await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'), '[{},{},""]');

    await page.reload();
    const field = page.getByLabel('API key');
    await field.waitFor();
    assert.equal(await field.inputValue(), '');
    assert.ok(!(await kept()).includes(key));

    await field.fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await field.waitFor();
    assert.equal(await field.inputValue(), '');
    assert.ok(!(await kept()).includes(key));
    await console.close();
  });

  it('the console: axe finds no serious problem in any view, light and dark, wide and on a phone', async (test) => {
    const { page, visit, close } = await signedIn();
    await page.evaluate(axeSource);
    const problems: string[] = [];
    const began = performance.now();
    let runs = 0;
    const examine = async (what: string, looks: readonly Look[]) => {
      for (const { colorScheme, width } of looks) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        // Of the rules, only contrast depends on the colours.
        const found = (await page.evaluate(runAxe(colorScheme === 'light' ? null : 'color-contrast'))) as readonly string[];
        const overflow = Number(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'));
        if (overflow > 0) problems.push(`${what}, ${width} px: the page is ${overflow} px wider than the window`);
        problems.push(...found.map((problem) => `${what}, ${colorScheme}, ${width} px: ${problem}`));
        runs += 1;
      }
      await page.setViewportSize({ width: 1280, height: 900 });
    };
    for (const view of viewsOf(world)) {
      await visit(view);
      await examine(view.name, everyLook);
    }
    const named = (name: string) => {
      const view = viewsOf(world).find((each) => each.name === name);
      assert.ok(view);
      return view;
    };
    await visit(named('lane'));
    await page.getByRole('button', { name: 'List', exact: true }).click();
    await examine('lane as a list', everyLook);
    const dialogs = [
      { view: 'transaction', opened: ['Cancel all open', 'Replace', 'Speed up', 'Cancel transaction', 'Copy as…'] },
      { view: 'relayers', opened: ['New relayer'] },
      { view: 'webhooks', opened: ['New notification'] },
      { view: 'networks', opened: ['Edit the RPC endpoints of sepolia-fork'] },
      { view: 'signers', opened: ['New local signer'] },
      { view: 'keys', opened: ['New API key', 'Rotate dashboard', 'Revoke dashboard'] },
    ];
    for (const { view, opened } of dialogs) {
      await visit(named(view));
      for (const name of opened) {
        await page.getByRole('button', { name, exact: true }).click();
        await page.getByRole('dialog').waitFor();
        await examine(`dialog ${name}`, twoLooks);
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      }
    }
    await visit(named('webhook'));
    await page.getByRole('button', { name: new RegExp(world.deadDelivery) }).click();
    await page.getByRole('dialog').getByText('the ledger is closed').first().waitFor();
    await examine('dialog of a delivery', twoLooks);
    await page.reload();
    await page.getByLabel('API key').waitFor();
    await page.evaluate(axeSource);
    await examine('sign-in', everyLook);
    test.diagnostic(`axe: ${runs} runs in ${(performance.now() - began).toFixed(0)} ms`);
    assert.deepEqual(problems, []);
    await close();
  });

  it('the console: works by keyboard alone, from the sign-in to a dialog and back', async () => {
    const { page, close } = await openConsole(browser, { baseUrl: rig.baseUrl });
    const { keyboard } = page;
    const focused = async () => String(await page.evaluate(focusedName));
    /** Presses Tab until the element with this name has the focus. */
    const tabTo = async (name: RegExp) => {
      for (let presses = 0; presses < 150; presses += 1) {
        if (name.test(await focused())) return;
        await keyboard.press('Tab');
      }
      assert.fail(`Tab does not reach ${name}; the focus is at ${await focused()}`);
    };
    const columnOf = (later: number) => new RegExp(`^nonce ${world.stuckNonce + later}: submitted`);
    await page.getByLabel('API key').waitFor();
    await tabTo(/^API key$/);
    await keyboard.type(rig.keys.all);
    await keyboard.press('Enter');
    await page.getByRole('row', { name: /Payouts/ }).waitFor();

    await tabTo(/^Payouts$/);
    await keyboard.press('Enter');
    await page.getByRole('link', { name: columnOf(0) }).waitFor();

    await tabTo(columnOf(0));
    await keyboard.press('ArrowRight');
    await tabTo(columnOf(1));
    await keyboard.press('ArrowLeft');
    await tabTo(columnOf(0));
    await keyboard.press('Enter');
    await page.getByRole('row', { name: /newest/ }).waitFor();
    assert.match((await page.evaluate('location.hash')) as string, new RegExp(world.stuck));

    await tabTo(/^Replace$/);
    await keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Replace the transaction' });
    await dialog.waitFor();
    // The dialog keeps the focus until it is closed.
    for (let presses = 0; presses < 30; presses += 1) {
      await keyboard.press('Tab');
      assert.equal(await page.evaluate(focusIsOutsideOfDialog), false, await focused());
    }
    await keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await waitFor('the focus to return to the button', async () => ((await focused()) === 'Replace' ? true : undefined), 5_000);

    // Tab leads around the whole page and back.
    await keyboard.press('Tab');
    await tabTo(/^Skip to content$/);
    await tabTo(/^Replace$/);
    await keyboard.press('Shift+Tab');
    assert.equal(await focused(), 'Speed up');
    await close();
  });
});

/** A page after a walk through all views. */
interface Walk {
  readonly console: ConsolePage;
  /** What can be pressed in any of them. */
  readonly controls: readonly Control[];
  /** The views that had the API key in them. */
  readonly withKey: readonly string[];
}

/** A theme and a width of the window. */
interface Look {
  readonly colorScheme: 'light' | 'dark';
  readonly width: number;
}

const everyLook: readonly Look[] = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [1280, 360].map((width) => ({ colorScheme, width })),
);
/** Both themes and both widths, for dialogs, whose pages have been examined. */
const twoLooks: readonly Look[] = [
  { colorScheme: 'light', width: 360 },
  { colorScheme: 'dark', width: 1280 },
];

/** Something that can be pressed, by its accessible role and name. */
interface Control {
  readonly role: 'button' | 'link' | 'checkbox';
  readonly name: string;
}

/** Everything that can be pressed in the page. */
async function controlsOf(page: Page): Promise<readonly Control[]> {
  const tree = await page.locator('body').ariaSnapshot();
  return [...tree.matchAll(/^\s*- '?(button|link|checkbox)(?: "((?:[^"\\]|\\.)*)")?/gm)].map(([, role, name = '']) => ({
    role: role as Control['role'],
    name,
  }));
}

function isAction(control: Control, { role, name }: Action): boolean {
  return control.role === role && (typeof name === 'string' ? control.name === name : name.test(control.name));
}

/** An action that changes something, by the name that the page gives it. */
interface Action {
  readonly name: RegExp | string;
  readonly role: Control['role'];
  /** The call that it makes. Absent: another action of the list makes the same. */
  readonly call?: (world: ConsoleWorld) => readonly [verb: string, path: string, body?: object];
}

const stuckPath = ({ stuck }: ConsoleWorld) => `/relayers/payouts/transactions/${stuck}`;

const actions: readonly Action[] = [
  { name: 'New relayer', role: 'button', call: () => ['POST', '/relayers', { name: 'a' }] },
  { name: 'Pause', role: 'button', call: () => ['PATCH', '/relayers/payouts', { paused: true }] },
  { name: 'Cancel all open', role: 'button', call: () => ['DELETE', '/relayers/payouts/transactions/pending'] },
  { name: 'Speed up', role: 'button', call: (world) => ['PUT', stuckPath(world), { to: null, value: 0, speed: 'fastest' }] },
  { name: 'Speed up', role: 'link' },
  { name: 'Replace', role: 'button', call: (world) => ['PUT', stuckPath(world), { to: null, value: 0, speed: 'fastest' }] },
  { name: 'Cancel transaction', role: 'button', call: (world) => ['DELETE', stuckPath(world)] },
  { name: /^Cancel selected/, role: 'button' },
  { name: /^Select /, role: 'checkbox' },
  { name: 'Send', role: 'link' },
  { name: 'Review and send', role: 'button', call: () => ['POST', '/relayers/payouts/transactions', { value: 1 }] },
  { name: 'Sign', role: 'link' },
  { name: 'Sign', role: 'button', call: () => ['POST', '/relayers/payouts/sign', { message: 'a' }] },
  { name: 'Settings', role: 'link' },
  { name: 'Save', role: 'button' },
  { name: 'Add an endpoint', role: 'button' },
  { name: 'Delete the relayer', role: 'button', call: () => ['DELETE', '/relayers/payouts'] },
  { name: 'Webhooks', role: 'link', call: () => ['GET', '/notifications'] },
  { name: 'New notification', role: 'button', call: () => ['POST', '/notifications', { url: 'https://example.com' }] },
  { name: 'Test', role: 'button', call: () => ['POST', '/notifications/audit/test'] },
  { name: 'Edit URL', role: 'button', call: () => ['PATCH', '/notifications/audit', { url: 'https://example.com' }] },
  { name: 'Sign deliveries', role: 'button', call: () => ['PATCH', '/notifications/audit', { signing_key: 'x'.repeat(40) }] },
  { name: 'Delete', role: 'button', call: () => ['DELETE', '/notifications/audit'] },
  {
    name: 'Redeliver all dead ones',
    role: 'button',
    call: ({ deadDelivery }) => ['POST', `/notifications/audit/deliveries/${deadDelivery}/redeliver`],
  },
  { name: 'Networks', role: 'link' },
  {
    name: 'Edit the RPC endpoints of sepolia-fork',
    role: 'button',
    call: () => ['PATCH', '/networks/evm:sepolia-fork', { rpc_urls: ['http://127.0.0.1:9'] }],
  },
  { name: 'Signers', role: 'link' },
  { name: 'New local signer', role: 'button', call: () => ['POST', '/signers', { id: 'a', type: 'local', config: {} }] },
  { name: 'Test payouts-key', role: 'button', call: () => ['POST', '/signers/payouts-key/test'] },
  { name: 'Delete payouts-key', role: 'button', call: () => ['DELETE', '/signers/payouts-key'] },
  { name: 'API keys', role: 'link', call: () => ['GET', '/api-keys'] },
  { name: 'New API key', role: 'button', call: () => ['POST', '/api-keys', { name: 'a', scopes: ['admin'] }] },
  { name: 'Rotate dashboard', role: 'button', call: () => ['POST', '/api-keys/dashboard/rotate', {}] },
  { name: 'Revoke dashboard', role: 'button', call: () => ['DELETE', '/api-keys/dashboard'] },
  { name: 'Instances', role: 'link', call: () => ['GET', '/instances'] },
  { name: /^Drain /, role: 'button', call: () => ['POST', '/instances/a/drain'] },
];

/** What a reader may press. */
const harmless = [
  /^Switch to (dark|light) colours$/,
  /^Sign out$/,
  /^Copy /,
  /^Find transaction$/,
  /^(Chart|List)$/,
  /^(Earlier|To the chain|Later|To the end)$/,
  /^(all|pending|sent|submitted|mined|confirmed|failed|expired|canceled)$/,
  /^Show (older ones|more)/,
];

/* What follows runs in the page. */

/** All elements, the values of all fields, and the address. */
const everythingInPage = `location.href + document.documentElement.outerHTML +
  [...document.querySelectorAll('input, textarea')].map(({ value }) => value).join(' ')`;

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Runs all rules, or one. Returns the serious problems, each with the elements that have it. */
function runAxe(rule: string | null): string {
  const options = { resultTypes: ['violations'], preload: false, ...(rule === null ? {} : { runOnly: [rule] }) };
  return `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => id + ' at ' + nodes.slice(0, 3).map(({ target, any }) => target.join(' ') + ' (' + (any[0]?.message ?? '') + ')').join(', ')))`;
}

/** The name of the element with the focus, near enough to its accessible name. */
const focusedName = `(() => {
  const element = document.activeElement;
  const label = element.labels?.[0]?.textContent;
  return (element.getAttribute('aria-label') ?? label ?? element.textContent ?? '').trim();
})()`;

const focusIsOutsideOfDialog = `document.activeElement !== document.body && document.activeElement.closest('dialog') === null`;

/** What the overview, the lane and the list say, as texts that change with a send. */
const overviewCounts = `[...document.querySelectorAll('dl.tiles dt')].filter((term) => /^(Waiting|In flight)/.test(term.textContent)).map((term) => term.nextElementSibling.textContent).join()`;
const laneCounts = `document.querySelector('.queue .panel-head')?.textContent + document.querySelectorAll('.lane-slot').length`;
const newestTransaction = `document.querySelector('main tbody tr a[href*="/transactions/"]')?.title`;

/** Sends by REST, and resolves to the milliseconds from the response until a frame with another state is on the screen. */
function sendAndLook(relayer: string, key: string, state: string): string {
  return `(async () => {
    const state = () => ${state};
    const before = state();
    const changed = new Promise((resolve) => {
      const look = () => {
        if (state() === before) return;
        observer.disconnect();
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
      };
      const observer = new MutationObserver(look);
      observer.observe(document, { childList: true, subtree: true, characterData: true });
    });
    const response = await fetch('/api/v1/relayers/${relayer}/transactions', {
      method: 'POST',
      headers: { authorization: 'Bearer ${key}', 'content-type': 'application/json' },
      body: '{"to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","value":1,"speed":"fast"}',
    });
    if (!response.ok) throw new Error(await response.text());
    const accepted = performance.now();
    return Math.max(0, (await changed) - accepted);
  })()`;
}
