/* `npm run bench -- entered [--against <commit>] [--files]`. See README.md here. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startAnvil } from '../test/support/anvil.js';
import { createServiceHome } from '../test/support/service.js';
import { waitFor } from '../test/support/wait-for.js';
import { sampleTransaction } from './cases.js';
import { referenceBuild } from './reference-build.js';
import { authorization, startServiceIn } from './servers.js';

const { values: options } = parseArgs({ options: { against: { type: 'string' }, files: { type: 'boolean', default: false } } });
const probe = fileURLToPath(new URL('entered-files.js', import.meta.url));

/** The walks in their order, and the number of files that each may enter; null: no goal. */
const goals = { 'start → listening': null, 'new relayer → running': 55, 'REST send → answer': 85, 'REST replace → answer': 105 };
type Walks = Readonly<Record<keyof typeof goals, readonly string[]>>;

/** Walks through the service that is compiled in `checkout`. The bundle of users has no files to count. */
async function walk(checkout: string): Promise<Walks> {
  const reports = mkdtempSync(join(tmpdir(), 'entered-'));
  const chain = await startAnvil({ noMining: true });
  const home = await createServiceHome({
    rpcUrl: chain.url,
    policies: { max_in_flight: 2 },
    env: { LOG_LEVEL: 'info', ENTERED_FILES: reports },
  });
  const service = await startServiceIn(home, join(checkout, 'dist/src/main.js'), ['--import', probe]);
  try {
    await chain.rpc('anvil_setBalance', [home.address, '0x56bc75e2d63100000']);
    let walks = 0;
    const call = async (method: string, path: string, body: object | null): Promise<{ readonly id: string; readonly status: string }> => {
      walks += 1;
      const [port = 0] = service.ports;
      const outgoing = request({ port, method, path: `/api/v1${path}`, agent: false });
      outgoing.setHeader('authorization', authorization).setHeader('content-type', 'application/json');
      const text = await new Promise<string>((settle, reject) => {
        outgoing.on('error', reject).on('response', async (response) => settle((await response.toArray()).join('')));
        outgoing.end(body === null ? '' : JSON.stringify(body));
      });
      const { data } = JSON.parse(text);
      if (data === null || data === undefined) throw new Error(`${method} ${path} failed: ${text}`);
      return data;
    };
    /** Returns what every repetition enters, without the pollers that only some of them meet. */
    const repeated = async (once: (repetition: number) => Promise<unknown>): Promise<readonly string[]> => {
      const all: (readonly string[])[] = [];
      for (let repetition = 0; repetition < 6; repetition += 1) {
        await once(repetition);
        all.push(JSON.parse(readFileSync(join(reports, `${walks}.json`), 'utf8')));
      }
      return (all[0] ?? []).filter((file) => all.every((files) => files.includes(file)));
    };
    const { id } = await call('POST', '/relayers/r1/transactions', sampleTransaction);
    await call('POST', '/relayers/r1/transactions', sampleTransaction);
    // What the lane does with the transaction is not counted, since as many as may be in flight are.
    await waitFor(
      'the broadcast',
      async () => (await call('GET', `/relayers/r1/transactions/${id}`, null)).status === 'submitted' || undefined,
    );
    const sent = await repeated(() => call('POST', '/relayers/r1/transactions', sampleTransaction));
    const created = await repeated(async (repetition) => {
      const signer = { id: `s${repetition}-made`, type: 'plain', config: { key: `0${repetition + 1}`.repeat(32) } };
      await call('POST', '/signers', signer);
      const relayer = { name: 'Another', network_type: 'evm', network: 'local', signer_id: signer.id, paused: false };
      await call('POST', '/relayers', relayer);
    });
    const replaced = await repeated((value) => call('PUT', `/relayers/r1/transactions/${id}`, { ...sampleTransaction, value: value + 2 }));
    return {
      'start → listening': JSON.parse(readFileSync(join(reports, '0.json'), 'utf8')),
      'new relayer → running': created,
      'REST send → answer': sent,
      'REST replace → answer': replaced,
    };
  } finally {
    await service.stop();
    await chain.stop();
    await home.remove();
    rmSync(reports, { recursive: true });
  }
}

const own = await walk(resolve('.'));
const reference = options.against === undefined ? null : await walk(referenceBuild(options.against));
for (const [name, goal] of Object.entries(goals) as [keyof Walks, number | null][]) {
  const compared = reference === null ? '' : `, ${options.against}: ${reference[name].length}`;
  process.stdout.write(`${name}: ${own[name].length} files entered${goal === null ? '' : `, goal ${goal}`}${compared}\n`);
  if (options.files) for (const file of own[name]) process.stdout.write(`  ${file}\n`);
  if (goal !== null && own[name].length > goal) process.exitCode = 1;
}
