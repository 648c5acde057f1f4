/* `npm run bench -- console [--relayers 500] [--open 10000] [--seconds 20] [--rate 10] [--loads 5] [--service dist/program/main.js]`. See README.md here. */
import { setTimeout as elapsed } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { startAnvil } from '../test/support/anvil.js';
import { skipWithoutChromium, startChromium } from '../test/support/chromium.js';
import { restClient } from '../test/support/rest-client.js';
import { apiKey } from '../test/support/service.js';
import { createLanesHome } from './lanes-home.js';
import { processCpuUs } from './load/process-cpu.js';
import { percentile } from './reads.js';
import { createSenders, say } from './sends.js';
import { startServiceIn } from './servers.js';
import { median } from './table.js';

/* The operators' console on a large service: how fast it shows the overview, what it costs the service, and how smoothly a long lane scrolls. */

const { values: options } = parseArgs({
  options: {
    relayers: { type: 'string', default: '500' },
    open: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '20' },
    rate: { type: 'string', default: '10' },
    loads: { type: 'string', default: '5' },
    service: { type: 'string', default: 'dist/program/main.js' },
  },
});
const relayers = Number(options.relayers);
const open = Number(options.open);
/** Slices of each kind, which take turns, because the load of the machine changes. */
const slices = 4;
/** Of each slice. */
const seconds = Number(options.seconds) / slices;
/** Open transactions of each relayer but the first, which has the others: its lane is the long one. */
const ofEach = 10;
const ofFirst = open - (relayers - 1) * ofEach;
/** Signs in as soon as the form is there, and notes when the overview has been painted with all relayers and transactions. */
const signInAtOnce = `(() => {
  const key = ${JSON.stringify(apiKey)};
  const tile = (title) => {
    const term = [...document.querySelectorAll('dl.tiles dt')].find((each) => each.textContent === title);
    return Number(term?.nextElementSibling?.querySelector('.figure')?.textContent.replaceAll(',', '') ?? -1);
  };
  const times = {};
  let resolve;
  window.consoleTimes = new Promise((painted) => {
    resolve = painted;
  });
  const observer = new MutationObserver(() => {
    const field = document.querySelector('input[type=password]');
    if (field !== null && times.form === undefined) {
      times.form = performance.now();
      // After the effects of the view that has the form.
      setTimeout(() => {
        field.value = key;
        field.form.requestSubmit();
      });
    }
    if (times.signedIn === undefined && document.querySelector('.shell') !== null) times.signedIn = performance.now();
    if (times.drawn === undefined && tile('Relayers') === ${relayers} && tile('Waiting to be signed') + tile('In flight') >= ${open}) {
      times.drawn = performance.now();
      // A frame begins after the change; the one after it begins when the change is on the screen.
      requestAnimationFrame(() => requestAnimationFrame(() => {
        times.painted = performance.now();
        resolve(times);
      }));
    }
  });
  observer.observe(document, { childList: true, subtree: true, characterData: true });
})()`;

if (skipWithoutChromium !== false) throw new Error(skipWithoutChromium);
if (ofFirst < 1) throw new Error(`--open is ${open}; ${relayers} relayers need at least ${(relayers - 1) * ofEach + 1}`);

const chain = await startAnvil({ noMining: true });
const home = await createLanesHome(chain.url, relayers);
for (let at = 0; at < relayers; at += 100)
  await Promise.all(home.addresses.slice(at, at + 100).map((address) => chain.rpc('anvil_setBalance', [address, '0x56bc75e2d63100000'])));
const server = await startServiceIn(home, options.service, []);
const baseUrl = `http://127.0.0.1:${server.ports[0]}`;
const { agent, send } = createSenders(32);
const call = restClient(() => baseUrl);
const browser = await startChromium();
try {
  await openTransactions();
  await measurePaint(browser);
  await measureWatcher(browser, 'nothing changes', 0);
  await measureWatcher(browser, `${options.rate} sends/s`, Number(options.rate));
  await measureScrolling(browser);
} finally {
  await browser.close();
  await agent.close();
  await server.stop();
  await chain.stop();
  await home.remove();
}

/** Sends all, and resolves when the service has signed them and the node has accepted them. */
async function openTransactions(): Promise<void> {
  const began = performance.now();
  const owners = Array.from({ length: open }, (_, index) => (index < ofFirst ? 1 : 2 + Math.floor((index - ofFirst) / ofEach)));
  let next = 0;
  await Promise.all(
    Array.from({ length: 32 }, async () => {
      for (let index = next++; index < open; index = next++) await send({ baseUrl }, index, `r${owners[index]}`);
    }),
  );
  for (;;) {
    const pool = (await chain.rpc('txpool_status')) as { readonly pending: string; readonly queued: string };
    if (Number(pool.pending) + Number(pool.queued) >= open) break;
    await elapsed(200);
  }
  say(
    `${relayers} relayers, ${open} open transactions, ${ofFirst} of them in one lane; all at the node after ${inSeconds(performance.now() - began)} s`,
  );
}

/** What the page noted, in milliseconds since the navigation began. */
interface ConsoleTimes {
  readonly form: number;
  readonly signedIn: number;
  readonly drawn: number;
  readonly painted: number;
}

interface OpenConsole {
  readonly page: Page;
  readonly times: ConsoleTimes;
  /** The processor time of its main thread so far. It depends less on the load of the machine than the clock does. */
  workMs(): Promise<number>;
  close(): Promise<void>;
}

async function measurePaint(on: Browser): Promise<void> {
  const all: ConsoleTimes[] = [];
  const pageMs: number[] = [];
  const serviceMs: number[] = [];
  for (let load = 0; load < Number(options.loads); load += 1) {
    const beforeUs = cpuUs();
    const { times, workMs, close } = await openConsole(on);
    serviceMs.push((cpuUs() - beforeUs) / 1000);
    pageMs.push(await workMs());
    all.push(times);
    await close();
  }
  const middle = (of: (times: ConsoleTimes) => number) => median(all.map(of)).toFixed(0);
  say(
    `overview: painted ${middle(({ painted }) => painted)} ms after the navigation began (goal 1000; worst of ${all.length}: ${Math.max(...all.map(({ painted }) => painted)).toFixed(0)}); form after ${middle(({ form }) => form)}, signed in after ${middle(({ signedIn }) => signedIn)}, drawn after ${middle(({ drawn }) => drawn)} ms; processor time of the page's main thread ${median(pageMs).toFixed(0)} ms, of the service ${median(serviceMs).toFixed(0)} ms`,
  );
}

/** The processor time of the service with one page open, less that without. */
async function measureWatcher(on: Browser, name: string, rate: number): Promise<void> {
  const alone: number[] = [];
  const overview: number[] = [];
  const lane: number[] = [];
  for (let slice = 0; slice < slices; slice += 1) {
    alone.push(await shareWhile(rate));
    const { page, close } = await openConsole(on);
    overview.push(await shareWhile(rate));
    await page.evaluate("location.hash = '#/relayers/r1/lane'");
    await page.locator('.lane-slot').first().waitFor();
    lane.push(await shareWhile(rate));
    await close();
  }
  const percent = (share: number) => (100 * share).toFixed(1);
  const more = (shares: readonly number[]) => percent(median(shares.map((share, slice) => share - (alone[slice] ?? 0))));
  say(
    `watcher, ${name}: ${more(overview)} % of a core for the overview (goal 5), ${more(lane)} % for the long lane; the service alone uses ${percent(median(alone))} %`,
  );
}

/** The part of a core that the service uses, over a slice at this number of sends per second, of one relayer after the other. */
async function shareWhile(rate: number): Promise<number> {
  // What the page asks for at first, and work on earlier sends, do not count.
  await elapsed(2_000);
  const before = { cpuUs: cpuUs(), atMs: performance.now() };
  const sending: Promise<unknown>[] = [];
  for (let index = 0; index < Math.floor(rate * seconds); index += 1) {
    await elapsed(Math.max(0, before.atMs + (index * 1000) / rate - performance.now()));
    sending.push(send({ baseUrl }, index, `r${2 + (index % (relayers - 1))}`));
  }
  await Promise.all(sending);
  await elapsed(Math.max(0, before.atMs + seconds * 1000 - performance.now()));
  return (cpuUs() - before.cpuUs) / 1000 / (performance.now() - before.atMs);
}

function cpuUs(): number {
  return processCpuUs(server.pid) ?? Number.NaN;
}

/** Turns the wheel over the long lane, and counts the frames in which it moved. */
async function measureScrolling(on: Browser): Promise<void> {
  const { page, workMs, close } = await openConsole(on);
  await page.evaluate("location.hash = '#/relayers/r1/lane'");
  await page.locator('.lane-slot').first().waitFor();
  const { body } = await call('GET', '/relayers/r1/lane?limit=1');
  await page.locator('.lane-scroll').hover();
  await page.evaluate(`(() => {
    const scroller = document.querySelector('.lane-scroll');
    window.consoleFrames = [];
    const note = (atMs) => {
      window.consoleFrames.push([atMs, scroller.scrollLeft]);
      requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
  })()`);
  const beforeMs = await workMs();
  const endMs = performance.now() + 6_000;
  while (performance.now() < endMs) {
    await page.mouse.wheel(240, 0);
    await elapsed(8);
  }
  const frames = (await page.evaluate('window.consoleFrames')) as readonly (readonly [atMs: number, left: number])[];
  const usedMs = (await workMs()) - beforeMs;
  await close();
  const first = frames.findIndex(([, left], index) => index > 0 && left !== frames[index - 1]?.[1]);
  const last = frames.findLastIndex(([, left], index) => index > 0 && left !== frames[index - 1]?.[1]);
  const moving = frames.slice(Math.max(0, first - 1), last + 1);
  const deltas = moving.slice(1).map(([atMs], index) => atMs - (moving[index]?.[0] ?? atMs));
  const tookMs = (moving.at(-1)?.[0] ?? 0) - (moving[0]?.[0] ?? 0);
  const distance = (moving.at(-1)?.[1] ?? 0) - (moving[0]?.[1] ?? 0);
  say(
    `lane of ${body.data.next_number} slots: ${((1000 * deltas.length) / tookMs).toFixed(0)} frames/s (goal 50) while it scrolls ${(distance / 1000).toFixed(0)} thousand pixels in ${inSeconds(tookMs)} s; a frame takes ${median(deltas).toFixed(0)} ms (median), ${percentile(deltas, 0.95).toFixed(0)} ms (p95), ${Math.max(...deltas).toFixed(0)} ms (worst), and ${(usedMs / frames.length).toFixed(1)} ms of processor time of the page's main thread`,
  );
}

/** Opens the console in a browser profile of its own, whose cache is empty, and resolves when the overview is painted. */
async function openConsole(on: Browser): Promise<OpenConsole> {
  const context = await on.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  await page.addInitScript(signInAtOnce);
  await page.goto(`${baseUrl}/console`);
  const times = (await page.evaluate('window.consoleTimes')) as ConsoleTimes;
  return {
    page,
    times,
    async workMs() {
      const { metrics } = await devtools.send('Performance.getMetrics');
      return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
    },
    close: () => context.close(),
  };
}

function inSeconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
