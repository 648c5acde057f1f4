import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import type { ConsoleWorld } from './console-world.js';

/** A view of the console. */
export interface ConsoleView {
  /** As `src/console/views/routes.tsx` has it. */
  readonly pattern: string;
  /** A name for files and for messages. */
  readonly name: string;
  /** The part of the address from `#` on. */
  readonly location: string;
  /** Something that is in the page only when the view has loaded what it shows. */
  readonly loaded: (page: Page) => Locator;
  /** True: a key that only reads transactions may open it. */
  readonly isForReaders: boolean;
}

/** Every view, of a service that `fillConsole` has filled. */
export function viewsOf(world: ConsoleWorld): readonly ConsoleView[] {
  const row = (name: string | RegExp) => (page: Page) => page.getByRole('row', { name }).first();
  return [
    { pattern: '/', name: 'overview', location: '#/', loaded: row(/Faucet/), isForReaders: true },
    { pattern: '/relayers', name: 'relayers', location: '#/relayers', loaded: row(/treasury/), isForReaders: true },
    {
      pattern: '/relayers/:relayerId/lane',
      name: 'lane',
      location: '#/relayers/payouts/lane',
      loaded: (page) => page.getByRole('link', { name: new RegExp(`^nonce ${world.stuckNonce}: submitted`) }),
      isForReaders: true,
    },
    {
      pattern: '/relayers/:relayerId/transactions',
      name: 'transactions',
      location: '#/relayers/payouts/transactions',
      loaded: row(/pending/),
      isForReaders: true,
    },
    {
      pattern: '/relayers/:relayerId/transactions/:transactionId',
      name: 'transaction',
      location: `#/relayers/payouts/transactions/${world.stuck}`,
      loaded: row(/newest/),
      isForReaders: true,
    },
    {
      pattern: '/relayers/:relayerId/send',
      name: 'send',
      location: '#/relayers/payouts/send',
      loaded: (page) => page.getByRole('button', { name: 'Review and send' }),
      isForReaders: false,
    },
    {
      pattern: '/relayers/:relayerId/sign',
      name: 'sign',
      location: '#/relayers/payouts/sign',
      loaded: (page) => page.getByRole('textbox', { name: 'Message' }),
      isForReaders: false,
    },
    {
      pattern: '/relayers/:relayerId/settings',
      name: 'settings',
      location: '#/relayers/payouts/settings',
      loaded: (page) => page.getByRole('textbox', { name: 'Name' }),
      isForReaders: false,
    },
    {
      pattern: '/approvals',
      name: 'approvals',
      location: '#/approvals',
      loaded: (page) => page.getByText('Nothing waits for approvals.'),
      isForReaders: true,
    },
    { pattern: '/webhooks', name: 'webhooks', location: '#/webhooks', loaded: row(/bookkeeping/), isForReaders: false },
    {
      pattern: '/webhooks/:notificationId',
      name: 'webhook',
      location: '#/webhooks/audit',
      loaded: row(/dead/),
      isForReaders: false,
    },
    { pattern: '/networks', name: 'networks', location: '#/networks', loaded: row(/sepolia-fork/), isForReaders: false },
    { pattern: '/signers', name: 'signers', location: '#/signers', loaded: row(/treasury-key/), isForReaders: false },
    { pattern: '/keys', name: 'keys', location: '#/keys', loaded: row(/dashboard/), isForReaders: false },
    { pattern: '/instances', name: 'instances', location: '#/instances', loaded: row(/sharing/), isForReaders: false },
  ];
}

/** The patterns of all views that the console has. */
export function routePatterns(): readonly string[] {
  const source = readFileSync('src/console/views/routes.tsx', 'utf8');
  return [...source.matchAll(/\{ pattern: '([^']+)'/g)].map(([, pattern = '']) => pattern);
}

/** The console in a browser. */
export interface ConsolePage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Every request of the page. */
  readonly requests: readonly string[];
  /** Errors of the page, errors in its console, and violations of its content security policy. */
  readonly complaints: readonly string[];
  /** Goes to a view and resolves when it has loaded. */
  visit(view: Pick<ConsoleView, 'location' | 'loaded'>): Promise<void>;
  close(): Promise<void>;
}

/** How to open it. */
export interface ConsolePageOptions {
  readonly baseUrl: string;
  /** The API key to sign in with. Absent: the page stays at the sign-in. */
  readonly key?: string;
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: 'light' | 'dark';
}

/** Reports each violation of the content security policy on the console of the page. */
const reportViolations = `addEventListener('securitypolicyviolation', (event) => {
  console.error('violation of', event.effectiveDirective, event.blockedURI, event.sourceFile);
}, true)`;

/** Opens the console, in a profile of its own. */
export async function openConsole(browser: Browser, options: ConsolePageOptions): Promise<ConsolePage> {
  const { baseUrl, key, width = 1280, height = 900, colorScheme = 'light' } = options;
  // Without motion, so that nothing is half drawn.
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.addInitScript(reportViolations);
  await page.goto(`${baseUrl}/console`);
  if (key !== undefined) {
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  }
  return {
    page,
    context,
    requests,
    complaints,
    async visit({ location, loaded }) {
      await page.evaluate(`location.hash = ${JSON.stringify(location)}`);
      await loaded(page).waitFor();
    },
    close: () => context.close(),
  };
}
