import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './run-command.js';
import { type StubRig, startStubRig } from './stub-rig.js';
import type { Client, ClientSuite } from './suite.js';

/*
 * Clients with stubs, one per language: generated from the contract that a running service hands out, by the commands that docs/api.md shows.
 */

/** A client of one language. Its project is the folder of its name. */
interface StubClient extends Client {
  /** Starts the built client, from its folder. */
  readonly run: readonly string[];
  /** Starts a program that links the stubs together with Google's packages, the official health package and a team's own option. */
  readonly links: readonly string[];
  /** An example that pays an order: its file in `examples`, its place in the project, and what starts it. */
  readonly order?: { readonly file: string; readonly place: string; readonly run: readonly string[] };
  /** The watches that it keeps open while their connections are cut: one, or one for each library, protocol, codec and version of HTTP. */
  readonly watches: number;
}

/** The steps of every client, in the words that it prints. */
const steps = ['watch', 'send', 'replace', 'confirmed', 'list', 'sign', 'errors', 'deadline', 'retry over TLS', 'reconnect', 'cut watches'];

/** The clients with stubs. */
export const stubSuite: ClientSuite<StubClient> = {
  clients: [
    {
      name: 'go',
      programs: ['go', 'protoc'],
      run: ['./client.out'],
      links: ['./links.out'],
      order: { file: 'go/order.go', place: 'order/main.go', run: ['./order.out'] },
      watches: 11,
    },
    {
      name: 'python',
      programs: ['python3'],
      run: ['venv/bin/python', 'client.py'],
      links: ['venv/bin/python', 'links.py'],
      order: { file: 'python/order.py', place: 'order.py', run: ['venv/bin/python', 'order.py'] },
      watches: 1,
    },
    {
      name: 'java',
      programs: ['java', 'mvn'],
      run: ['java', '-cp', 'target/client.jar', 'example.Client'],
      links: ['java', '-cp', 'target/client.jar', 'example.Links'],
      order: {
        file: 'java/Order.java',
        place: 'src/main/java/example/Order.java',
        run: ['java', '-cp', 'target/client.jar', 'example.Order'],
      },
      watches: 1,
    },
    { name: 'rust', programs: ['cargo', 'protoc'], run: ['target/debug/client'], links: ['target/debug/links'], watches: 1 },
    {
      name: 'cpp',
      programs: ['g++', 'make', 'pkg-config', 'protoc', 'grpc_cpp_plugin'],
      run: ['./client.out'],
      links: ['./links.out'],
      watches: 1,
    },
  ],
  async start() {
    const rig = await startStubRig();
    return {
      async check({ name, run, links, order, watches }) {
        const startedAt = performance.now();
        const folder = await layProject(name, rig);
        if (order !== undefined) await cp(join('examples', order.file), join(folder, order.place));
        await runCommand('bash', ['build.sh'], { cwd: folder });
        const buildSeconds = ((performance.now() - startedAt) / 1000).toFixed(0);
        assert.deepEqual(await rig.run(links, folder), ['linked']);
        if (order !== undefined) await assertPaysOrder(rig, order.run, folder);
        const lines = await rig.run(run, folder);
        assert.deepEqual(
          lines.filter((line) => line.startsWith('done ')),
          steps.map((step) => `done ${step}`),
        );
        const cut = lines.filter((line) => line.startsWith(`${watches} watches cut `));
        assert.equal(cut.length, 1);
        return [`${buildSeconds} s of it to build`, ...cut, ...lines.filter((line) => line.startsWith('headers of '))];
      },
      stop: rig.stop,
    };
  },
};

async function assertPaysOrder(rig: StubRig, run: readonly string[], folder: string): Promise<void> {
  const receiver = `0x${randomBytes(20).toString('hex')}`;
  const lines = await rig.run(run, folder, { RECEIVER: receiver });
  const [, id] = /^sent (\S+)$/.exec(lines[0] ?? '') ?? [];
  assert.match(lines[1] ?? '', /^mined 0x[0-9a-f]{64}$/, lines.join('\n'));
  assert.deepEqual(lines.slice(2), ['balance 1000', `found ${id}`]);
  assert.equal(await rig.tokenBalance(receiver), 1000n);
}

/**
 * Copies a client's project to where its build outputs survive from run to run, with what the service publishes in it and the team's own option
 * beside it.
 */
async function layProject(name: string, { baseUrl }: StubRig): Promise<string> {
  const root = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'relayer-clients', 'stubs');
  const folder = join(root, name);
  await mkdir(folder, { recursive: true });
  for (const each of [name, 'inhouse']) await cp(join('test/clients', each), join(root, each), { recursive: true });
  for (const file of ['contract.zip', 'contract.binpb']) {
    const response = await fetch(`${baseUrl}/${file}`);
    assert.equal(response.status, 200);
    await writeFile(join(folder, file), new Uint8Array(await response.arrayBuffer()));
  }
  await rm(join(folder, 'contract'), { recursive: true, force: true });
  // Python unpacks it, since a small machine may lack unzip.
  execFileSync('python3', ['-m', 'zipfile', '-e', 'contract.zip', 'contract'], { cwd: folder });
  return folder;
}
