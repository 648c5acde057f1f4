import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { skipWithoutChromium, startChromium } from '../support/chromium.js';
import { restClient } from '../support/rest-client.js';
import { interrupt, type Sandbox, startSandbox } from '../support/sandbox.js';
import { waitFor } from '../support/wait-for.js';

/** Debian's Python, since its grpc packages install there. */
const python = '/usr/bin/python3';

let pageServer: ChildProcess;
let pageOrigin: string;
let sandbox: Sandbox;
before(async () => {
  pageServer = spawn(process.execPath, ['dist/examples/browser/serve.js'], {
    env: { PATH: process.env.PATH, PAGE_PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  pageServer.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  pageOrigin = await waitFor('the page to be served', () => /open (http:\S+)\//.exec(output)?.[1], 120_000);
  sandbox = await startSandbox({ CORS_ALLOWED_ORIGINS: pageOrigin });
});
after(async () => {
  await sandbox?.stop();
  await interrupt(pageServer);
});

describe('examples against the sandbox', () => {
  it('TypeScript example: sends, replaces, watches, signs and verifies a webhook with Connect', async () => {
    const lines = await run(process.execPath, ['dist/examples/typescript/main.js']);
    assertDone(lines, /^webhook test: valid signature$/);
  });

  it('curl example: sends, replaces, watches, signs and tests a webhook', { skip: skipWithout('curl', 'bash') }, async () => {
    const lines = await run('bash', ['examples/curl/relay.sh']);
    assertDone(lines, /^webhook test: delivered$/);
    await waitFor("the sandbox's receiver to print it", () =>
      /webhook \(valid signature\): test/.test(sandbox.output()) ? true : undefined,
    );
  });

  it('Python example: sends, replaces, watches, signs and verifies a webhook with grpcio', { skip: skipWithoutPython() }, async () => {
    const lines = await run(python, ['examples/python/relay.py']);
    assertDone(lines, /^webhook test: valid signature$/);
  });

  it('plugin example: serves a plugin that pays with a key of its own, for callers who may only call plugins', async (test) => {
    const rest = restClient(() => sandbox.url, sandbox.token);
    const keyWith = async (fields: object) =>
      (await rest('POST', '/api-keys', fields)).body.data as { readonly id: string; readonly key: string };
    const own = await keyWith({ name: 'payout-plugin', scopes: ['transactions:read', 'transactions:write'], relayer_ids: ['sandbox'] });
    const caller = await keyWith({ name: 'caller', scopes: ['plugins:call'] });
    const secret = 'a secret of the plugin';
    const host = spawn(process.execPath, ['examples/plugins/host.mjs', 'examples/plugins/payout.mjs'], {
      env: { PATH: process.env.PATH, RELAYER_URL: sandbox.url, RELAYER_API_KEY: own.key, PLUGIN_SECRET: secret, PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    test.after(() => interrupt(host));
    let output = '';
    host.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const port = await waitFor('the host of the plugin', () => /listening on (\d+)/.exec(output)?.[1]);
    const url = `http://127.0.0.1:${port}`;
    const headers = [{ name: 'X-Plugin-Secret', value: secret }];
    assert.equal((await rest('POST', '/plugins', { id: 'payout', url, headers, forward_logs: true })).status, 201);

    const call = (params: object) => restClient(() => sandbox.url, caller.key)('POST', '/plugins/payout/call', { params });
    const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
    const paid = await call({ relayer_id: 'sandbox', to, value: '1' });
    assert.equal(paid.status, 200, JSON.stringify(paid.body));
    assert.deepEqual(paid.body.metadata.logs, [{ level: 'info', message: `payout for key ${caller.id}` }]);
    assert.equal((await rest('GET', `/relayers/sandbox/transactions/${paid.body.data.id}`)).body.data.to, to);
    const wrong = await call({ relayer_id: 'sandbox' });
    assert.deepEqual([wrong.status, wrong.body.data.code, wrong.body.data.details], [400, 'INVALID_PARAMS', { got: ['relayer_id'] }]);
    const other = await call({ relayer_id: 'sandbox-solana', to, value: '1' });
    assert.deepEqual([other.status, other.body.data.code], [403, 'RELAYER_NOT_ALLOWED']);
    assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 401);
  });

  it('browser example: sends, replaces, watches, signs and tests a webhook with gRPC-Web', { skip: skipWithoutChromium }, async () => {
    const browser = await startChromium();
    try {
      const page = await browser.newPage();
      await page.goto(pageOrigin);
      await page.locator('[name=url]').fill(sandbox.url);
      await page.locator('[name=token]').fill(sandbox.token);
      await page.getByRole('button', { name: 'Run' }).click();
      const lines = await mineUntilDone(() => page.locator('#log li').allTextContents());
      assertDone(lines, /^webhook test: on its way$/);
    } finally {
      await browser.close();
    }
  });
});

/** Runs an example, and mines a block after it has replaced its transaction. Fails with the example's output. */
async function run(command: string, args: readonly string[]): Promise<readonly string[]> {
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, URL: sandbox.url, TOKEN: sandbox.token },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ended = new Promise<number | null>((exited) => child.once('exit', exited));
  try {
    const lines = await mineUntilDone(() => {
      assert.ok(child.exitCode === null || child.exitCode === 0, output + errors);
      return output.trim().split('\n');
    });
    assert.equal(await ended, 0, output + errors);
    return lines;
  } finally {
    child.kill();
  }
}

async function mineUntilDone(readLines: () => readonly string[] | Promise<readonly string[]>): Promise<readonly string[]> {
  return waitFor(
    'the example to be done',
    async () => {
      const lines = await readLines();
      assert.ok(!lines.some((line) => line.startsWith('failed')), lines.join('\n'));
      if (lines.includes('replaced') && !lines.some((line) => line.startsWith('is confirmed'))) await sandbox.mine();
      return lines.some((line) => line.startsWith('webhook ')) ? lines : undefined;
    },
    120_000,
  );
}

function assertDone(lines: readonly string[], webhook: RegExp): void {
  const output = lines.join('\n');
  assert.match(lines[0] ?? '', /^sent [0-9a-f-]{36}$/, output);
  assert.equal(lines[1], 'replaced', output);
  assert.match(lines.at(-3) ?? '', /^is confirmed/, output);
  assert.match(lines.at(-2) ?? '', /^signed [0-9a-f]{130}$/, output);
  assert.match(lines.at(-1) ?? '', webhook, output);
}

function skipWithout(...commands: readonly string[]): string | false {
  const missing = commands.filter((command) => spawnSync(command, ['--version']).error !== undefined);
  return missing.length === 0 ? false : `${missing.join(' and ')} is not installed`;
}

function skipWithoutPython(): string | false {
  const without = skipWithout(python, 'protoc', 'grpc_python_plugin');
  // grpc_python_plugin does not support --version, but starting it shows that it exists.
  if (without !== false) return without;
  return spawnSync(python, ['-c', 'import grpc']).status === 0 ? false : 'python3-grpcio is not installed';
}
