// Hosts one plugin of OpenZeppelin Relayer, unchanged, as an HTTP server that the service passes calls on to:
//   RELAYER_URL=http://127.0.0.1:8080 RELAYER_API_KEY=<a key of the plugin's own> PLUGIN_SECRET=<text> PORT=9000 node host.mjs ./payout.mjs
// The service needs the plugin {"id": "payout", "url": "http://127.0.0.1:9000", "headers": [{"name": "X-Plugin-Secret", "value": <text>}]}.
import { AsyncLocalStorage } from 'node:async_hooks';
import { timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

const { RELAYER_URL, RELAYER_API_KEY, PLUGIN_SECRET, PORT = '9000' } = process.env;
const { handler } = await import(pathToFileURL(process.argv[2]).href);

async function call(method, path, body) {
  const headers = { authorization: `Bearer ${RELAYER_API_KEY}`, 'content-type': 'application/json' };
  const response = await fetch(`${RELAYER_URL}/api/v1/relayers/${path}`, { method, headers, body: body && JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error), { status: response.status, code: response.headers.get('x-error-reason') });
  return answer;
}
const data = async (...request) => (await call(...request)).data;

const ended = ['confirmed', 'failed', 'expired', 'canceled'];
async function transactionWait({ id, relayer_id }, { interval = 1_000, timeout = 60_000 } = {}) {
  for (const end = Date.now() + timeout; Date.now() < end; await new Promise((go) => setTimeout(go, interval))) {
    const transaction = await data('GET', `${relayer_id}/transactions/${id}`);
    if (ended.includes(transaction.status)) return transaction;
  }
  throw Object.assign(new Error(`transaction ${id} is not final yet`), { status: 504, code: 'WAIT_TIMEOUT' });
}

const api = {
  transactionWait,
  useRelayer: (id) => ({
    async sendTransaction(request) {
      const transaction = await data('POST', `${id}/transactions`, request);
      return { ...transaction, wait: (options) => transactionWait(transaction, options) };
    },
    getTransaction: ({ transactionId }) => data('GET', `${id}/transactions/${transactionId}`),
    getRelayer: () => data('GET', id),
    getRelayerStatus: () => data('GET', `${id}/status`),
    signTransaction: (request) => data('POST', `${id}/sign-transaction`, request),
    rpc: (request) => call('POST', `${id}/rpc`, request),
  }),
};

// Lost with the process: use a database if the plugin must not forget.
const stored = new Map();
const locks = new Map();
const kv = {
  get: async (key) => stored.get(key) ?? null,
  set: async (key, value) => stored.set(key, value) && true,
  del: async (key) => stored.delete(key),
  exists: async (key) => stored.has(key),
  listKeys: async (pattern = '*') => [...stored.keys()].filter((key) => key.startsWith(pattern.replace(/\*$/, ''))),
  clear: async () => stored.clear(),
  withLock(key, task) {
    const run = (locks.get(key) ?? Promise.resolve()).then(task);
    locks.set(
      key,
      run.catch(() => undefined),
    );
    return run;
  },
};

// What the plugin logs during a call goes to its caller, if the plugin has forward_logs.
const logs = new AsyncLocalStorage();
for (const level of ['log', 'info', 'warn', 'error', 'debug']) {
  // biome-ignore lint/suspicious/noConsole: plugins log there.
  const write = console[level];
  console[level] = (...words) => {
    logs.getStore()?.push({ level, message: words.map((word) => (typeof word === 'string' ? word : JSON.stringify(word))).join(' ') });
    write(...words);
  };
}

async function answer(request) {
  const given = Buffer.from(request.headers['x-plugin-secret'] ?? '');
  const secret = Buffer.from(PLUGIN_SECRET);
  if (given.length !== secret.length || !timingSafeEqual(given, secret)) return { status: 401, message: 'not called by the service' };
  const url = new URL(request.url, 'http://host');
  const body = JSON.parse((await text(request)) || '{}');
  const query = {};
  for (const [name, value] of url.searchParams) query[name] = [...(query[name] ?? []), value];
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, [value].flat()]));
  const context = { api, kv, headers, query, params: body.params ?? body, method: request.method, route: url.pathname, config: {} };
  return { status: 200, result: (await handler(context)) ?? null };
}

const server = createServer((request, response) => {
  logs.run([], async () => {
    const { status, ...said } = await answer(request).catch(({ status = 500, message, code, details }) => ({
      status,
      message,
      code,
      details,
    }));
    const type = 'application/vnd.relayer.plugin+json';
    response.writeHead(status, { 'content-type': type }).end(JSON.stringify({ ...said, logs: logs.getStore() }));
  });
});
server.listen(Number(PORT), '127.0.0.1', () => process.stdout.write(`listening on ${server.address().port}\n`));
