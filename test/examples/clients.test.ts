import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { skipWithoutChromium, startChromium } from '../support/chromium.js';
import { interrupt, type Sandbox, startSandbox } from '../support/sandbox.js';
import { waitFor } from '../support/wait-for.js';

/** Debian's own, which its packages are for. */
const python = '/usr/bin/python3';

let pageServer: ChildProcess;
let pageOrigin: string;
let sandbox: Sandbox;
before(async () => {
  pageServer = spawn(process.execPath, ['--import', 'tsx', 'examples/browser/serve.ts'], {
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

describe('the main job, against the sandbox, as the examples do it', () => {
  it('in TypeScript with Connect', async () => {
    const lines = await run(process.execPath, ['--import', 'tsx', 'examples/typescript/main.ts']);
    assertDone(lines, /^webhook test: its signature holds$/);
  });

  it('with curl', { skip: skipWithout('curl', 'bash') }, async () => {
    const lines = await run('bash', ['examples/curl/relay.sh']);
    assertDone(lines, /^webhook test: delivered$/);
    await waitFor("the sandbox's receiver to print it", () =>
      /webhook \(valid signature\): test/.test(sandbox.output()) ? true : undefined,
    );
  });

  it('in Python with grpcio', { skip: skipWithoutPython() }, async () => {
    const lines = await run(python, ['examples/python/relay.py']);
    assertDone(lines, /^webhook test: its signature holds$/);
  });

  it('in a browser with gRPC-Web', { skip: skipWithoutChromium }, async () => {
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

/** Runs an example, and mines once it has replaced what it sent. Fails, with what it said, where it fails. */
async function run(command: string, args: readonly string[]): Promise<readonly string[]> {
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, URL: sandbox.url, TOKEN: sandbox.token },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let complaints = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  const ended = new Promise<number | null>((exited) => child.once('exit', exited));
  try {
    const lines = await mineUntilDone(() => {
      assert.ok(child.exitCode === null || child.exitCode === 0, output + complaints);
      return output.trim().split('\n');
    });
    assert.equal(await ended, 0, output + complaints);
    return lines;
  } finally {
    child.kill();
  }
}

async function mineUntilDone(said: () => readonly string[] | Promise<readonly string[]>): Promise<readonly string[]> {
  return waitFor(
    'the example to be done',
    async () => {
      const lines = await said();
      assert.ok(!lines.some((line) => line.startsWith('failed')), lines.join('\n'));
      if (lines.includes('replaced') && !lines.some((line) => line.startsWith('is confirmed'))) await sandbox.mine();
      return lines.some((line) => line.startsWith('webhook ')) ? lines : undefined;
    },
    120_000,
  );
}

function assertDone(lines: readonly string[], webhook: RegExp): void {
  const told = lines.join('\n');
  assert.match(lines[0] ?? '', /^sent [0-9a-f-]{36}$/, told);
  assert.equal(lines[1], 'replaced', told);
  assert.match(lines.at(-3) ?? '', /^is confirmed/, told);
  assert.match(lines.at(-2) ?? '', /^signed [0-9a-f]{130}$/, told);
  assert.match(lines.at(-1) ?? '', webhook, told);
}

function skipWithout(...commands: readonly string[]): string | false {
  const missing = commands.filter((command) => spawnSync(command, ['--version']).error !== undefined);
  return missing.length === 0 ? false : `skipped: this machine has no ${missing.join(' and no ')}`;
}

function skipWithoutPython(): string | false {
  const without = skipWithout(python, 'protoc', 'grpc_python_plugin');
  // The plugin knows no --version, but can be started.
  if (without !== false) return without;
  return spawnSync(python, ['-c', 'import grpc']).status === 0 ? false : 'skipped: this machine has no grpcio for Python (python3-grpcio)';
}
