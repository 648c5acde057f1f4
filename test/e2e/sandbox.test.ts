import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { freePort } from '../../src/sandbox/free-port.js';
import { programFile } from '../support/program-file.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

/** The sandbox has a relayer on each of these. */
const chains = ['EVM', 'Stellar', 'Solana'];

it('sandbox: starts twice, its printed commands work as they are, and Ctrl-C stops everything', async () => {
  const cwd = await temporaryFolder();
  const rpcPort = await freePort();
  for (const start of ['first', 'second']) {
    const child = spawn(process.execPath, [programFile, 'dev'], {
      cwd,
      env: { PATH: process.env.PATH, SANDBOX_BLOCK_TIME: '0', SANDBOX_RPC_PORT: String(rpcPort), APP_PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise<number | null>((exited) => child.once('exit', exited));
    try {
      await waitFor('the sandbox to be ready', () => (output.includes('Ctrl-C stops everything.') ? true : undefined), 120_000);
      assert.equal(output.includes('started a new database'), start === 'second', output);
      // Runs each printed command unchanged, with a short pause as a person would make.
      const commands = output.split('\n').filter((line) => /^(export |SENT=|curl |npx )/.test(line));
      const script = commands
        .map((line) => line.replace('npx @bufbuild/buf', resolve('node_modules/.bin/buf')))
        .map((line, index, lines) => {
          const before = lines[index - 1] ?? '';
          // On a slow machine, a block may be made before the node has the transaction. A person would make another.
          const again = /anvil_mine|manualclose/.test(before)
            ? `until ${line.split(';')[0]} | grep -q '"status":"confirmed"'; do ${before}; sleep 0.3; done\n`
            : '';
          return `${again}${line}`;
        })
        .join('; echo; sleep 0.3\n');
      const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script], { timeout: 120_000 });
      const answers = stderr + stdout;
      // Send, replace, get and attempts on each chain; sign, create, update.
      assert.equal(answers.match(/"success":true/g)?.length, 4 * chains.length + 3, answers);
      assert.ok(!answers.includes('"success":false'), answers);
      assert.equal(answers.match(/"data":\{"id":"[^"]+","relayer_id":"[^"]+","status":"confirmed"/g)?.length, chains.length, answers);
      assert.match(stdout, /"currentPage": 1/);
      await waitFor('the webhook of the confirmation', () => (/valid signature.* is confirmed/.test(output) ? true : undefined));
      assert.ok(!output.includes('INVALID SIGNATURE'));
    } finally {
      child.kill('SIGINT');
    }
    assert.equal(await ended, 0, output);
    await assert.rejects(fetch(`http://127.0.0.1:${rpcPort}`), 'the local chain has stopped');
  }
});

it('sandbox: finds a taken port before it starts a chain, and names its setting', async (test) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  test.after(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const { status, stdout, stderr } = spawnSync(process.execPath, [programFile, 'dev'], {
    cwd: await temporaryFolder(),
    env: { PATH: process.env.PATH, SANDBOX_RPC_PORT: '0', APP_PORT: String(port) },
    encoding: 'utf8',
  });
  assert.deepEqual([status, stdout], [2, '']);
  assert.match(stderr, new RegExp(`APP_PORT: the port ${port} on 127.0.0.1 is already in use; set another port`));
});
