import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { skipWithoutChromium, startChromium } from '../support/chromium.js';
import { apiKey } from '../support/service.js';

/** The contract's limit. The machine may be busy once, so the best of ten calls counts. */
const limitMs = 100;
const attempts = 10;
const types = ['application/connect+json', 'application/grpc-web+json'];
/** Each has five or more changes. */
const sends = 220;
const cutEvery = 50;

/** What a page is told of the service. Playwright hands it over as JSON. */
interface Service {
  readonly baseUrl: string;
  readonly key: string;
  readonly type: string;
  readonly relayerId: string;
}

/** What a page saw. */
interface Seen {
  readonly headersMs: number;
  readonly requestId: string | null;
  readonly sentId: string;
  readonly watchedIds: readonly string[];
}

/** What a page saw of a relayer whose transactions all ended, with its watch cut again and again. */
interface Followed {
  readonly cuts: number;
  readonly ended: readonly string[];
  /** The last revision of each transaction. */
  readonly revisions: Readonly<Record<string, number>>;
  /** Records whose revision did not grow, or that came after their end. */
  readonly wrong: readonly string[];
}

describe('WatchTransactions in a browser', { skip: skipWithoutChromium }, () => {
  let browser: Browser;
  let pages: Server;
  let anvil: Anvil;
  let rig: AppRig;
  let page: Page;

  before(async () => {
    pages = createServer((_request, response) => response.setHeader('content-type', 'text/html').end('<title>app</title>'));
    await once(pages.listen(0, '127.0.0.1'), 'listening');
    anvil = await startAnvil({ blockTime: 1 });
    rig = await startAppRig({ rpcUrl: anvil.url, env: { CORS_ALLOWED_ORIGINS: originOf('127.0.0.1') } });
    browser = await startChromium();
    page = await newPage();
  });

  after(async () => {
    await browser?.close();
    await rig?.stop();
    await anvil?.stop();
    pages?.close();
  });

  function serviceFor(type: string, relayerId = 'r1'): Service {
    return { baseUrl: rig.baseUrl, key: apiKey, type, relayerId };
  }

  async function askJson(verb: string, path: string, body?: object) {
    const { status, text } = await rig.ask(verb, `/api/v1/relayers/r2${path}`, { body: body && JSON.stringify(body) });
    assert.equal(status, 200, text);
    return JSON.parse(text).data;
  }

  function originOf(host: string): string {
    return `http://${host}:${(pages.address() as AddressInfo).port}`;
  }

  /** A page in which the functions that run in it find the one that they share. */
  async function newPage(): Promise<Page> {
    const made = await browser.newPage();
    await made.addInitScript(`globalThis.openWatch = ${openWatch}`);
    return made;
  }

  for (const type of types) {
    it(`watch in a browser, ${type}: a page of an allowed origin has the headers within ${limitMs} ms, and sees what it sends then`, async () => {
      await page.goto(originOf('127.0.0.1'));
      const times: number[] = [];
      while (times.length < attempts && (times.at(-1) ?? limitMs) >= limitMs) {
        const seen = await page.evaluate(watchThenSend, serviceFor(type));
        assert.equal(seen.watchedIds.at(-1), seen.sentId);
        assert.match(seen.requestId ?? '', /^[\w-]{36}$/);
        times.push(seen.headersMs);
      }
      assert.ok(Math.min(...times) < limitMs, `the headers came after ${times.map(Math.round)} ms`);
    });

    it(`watch in a browser, ${type}: a page of another origin reads nothing`, async () => {
      await page.goto(originOf('localhost'));
      await assert.rejects(page.evaluate(watchThenSend, serviceFor(type)), /Failed to fetch/);
    });
  }

  it(`watch in a browser: 1,000 changes with the watch cut every ${cutEvery} messages and resumed by token: none is missed or out of order`, async () => {
    const { address } = await askJson('GET', '');
    await anvil.rpc('anvil_setBalance', [address, '0x3635c9adc5dea00000']);
    const followers = await Promise.all(
      types.map(async (type) => {
        const own = await newPage();
        await own.goto(originOf('127.0.0.1'));
        // Everything comes after the token of the empty relayer.
        const token = await own.evaluate(firstToken, serviceFor(type, 'r2'));
        return () => own.evaluate(followCut, { ...serviceFor(type, 'r2'), sends, cutEvery, token });
      }),
    );
    const following = Promise.all(followers.map((follow) => follow()));
    const ids: string[] = [];
    while (ids.length < sends) ids.push((await askJson('POST', '/transactions', { to: address, value: '1' })).id);
    for (const { cuts, ended, revisions, wrong } of await following) {
      assert.deepEqual(wrong, []);
      assert.deepEqual([...ended].sort(), [...ids].sort());
      for (const id of ids) assert.equal(revisions[id], (await askJson('GET', `/transactions/${id}`)).revision);
      assert.ok(cuts > 0);
      const changes = Object.values(revisions).reduce((sum, revision) => sum + revision, 0);
      assert.ok(changes >= 1_000, `there were ${changes} changes`);
    }
  });
});

/** One open watch, for functions that run in a page. */
interface OpenWatch {
  readonly headersMs: number;
  readonly requestId: string | null;
  readonly messages: AsyncIterable<{
    readonly resumeToken: string;
    readonly transaction?: { readonly id: string; readonly revision: string; readonly status: string };
  }>;
  cut(): void;
}

/** Runs in the page: opens a watch, or resumes one. */
async function openWatch({ baseUrl, key, type, relayerId }: Service, resumeToken?: string): Promise<OpenWatch> {
  const request = new TextEncoder().encode(JSON.stringify({ relayerId, resumeToken }));
  const body = new Uint8Array(5 + request.length);
  new DataView(body.buffer).setUint32(1, request.length);
  body.set(request, 5);
  const leaving = new AbortController();
  const begunMs = performance.now();
  const response = await fetch(`${baseUrl}/relayer.v1.TransactionService/WatchTransactions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': type },
    body,
    signal: leaving.signal,
  });
  const headersMs = performance.now() - begunMs;
  async function* messages() {
    const reader = response.body?.getReader();
    let held = new Uint8Array(0);
    for (;;) {
      const chunk = await reader?.read();
      if (chunk?.value === undefined) throw new Error('the watch ended');
      held = new Uint8Array([...held, ...chunk.value]);
      for (let end = 0; held.length >= 5; held = held.slice(end)) {
        end = 5 + new DataView(held.buffer).getUint32(1);
        if (held.length < end) break;
        yield JSON.parse(new TextDecoder().decode(held.subarray(5, end)));
      }
    }
  }
  return { headersMs, requestId: response.headers.get('x-request-id'), messages: messages(), cut: () => leaving.abort() };
}

/** Runs in the page: opens a watch, sends once its headers are there, and reads until the watch shows what was sent. */
async function watchThenSend(service: Service): Promise<Seen> {
  const { headersMs, requestId, messages, cut } = await openWatch(service);
  const { baseUrl, key, relayerId } = service;
  const evm = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1' };
  const answer = await fetch(`${baseUrl}/relayer.v1.TransactionService/SendTransaction`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ relayerId, evm }),
  });
  const sentId: string = (await answer.json()).transaction.id;
  const watchedIds: string[] = [];
  for await (const { transaction } of messages) {
    if (transaction !== undefined) watchedIds.push(transaction.id);
    if (watchedIds.at(-1) === sentId) break;
  }
  cut();
  return { headersMs, requestId, sentId, watchedIds };
}

/** Runs in the page: opens a watch, and returns the token of its first message. */
async function firstToken(service: Service): Promise<string> {
  const { messages, cut } = await openWatch(service);
  for await (const { resumeToken } of messages) {
    cut();
    return resumeToken;
  }
  throw new Error('the watch ended');
}

/** What a page follows. */
interface Following extends Service {
  readonly token: string;
  readonly sends: number;
  readonly cutEvery: number;
}

/** Runs in the page: resumes a watch until as many transactions have ended; cuts it after some messages each time, and resumes it again. */
async function followCut({ sends, cutEvery, token: first, ...service }: Following): Promise<Followed> {
  const finals = ['CONFIRMED', 'FAILED', 'EXPIRED', 'CANCELED'];
  const revisions: Record<string, number> = {};
  const ended = new Set<string>();
  const wrong: string[] = [];
  let cuts = -1;
  let token = first;
  while (ended.size < sends) {
    const { messages, cut } = await openWatch(service, token);
    cuts += 1;
    let read = 0;
    for await (const { resumeToken, transaction } of messages) {
      token = resumeToken;
      if (transaction !== undefined) {
        const { id, status } = transaction;
        const revision = Number(transaction.revision);
        if (revision <= (revisions[id] ?? 0) || ended.has(id)) wrong.push(`${id} ${status} ${revision} after ${revisions[id]}`);
        revisions[id] = revision;
        if (finals.some((final) => status.endsWith(final))) ended.add(id);
      }
      read += 1;
      if (read === cutEvery || ended.size === sends) break;
    }
    cut();
  }
  return { cuts, ended: [...ended], revisions, wrong };
}
