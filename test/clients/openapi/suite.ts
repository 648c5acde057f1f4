import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Anvil, startAnvil } from '../../support/anvil.js';
import { type AppRig, startAppRig } from '../../support/app-rig.js';
import { apiKey } from '../../support/service.js';
import { type StellarApp, startStellarApp } from '../../support/stellar-app.js';
import type { ClientSuite } from '../suite.js';
import { type ClientTarget, type OpenApiClient, openApiClients } from './generators.js';
import { writeRecords } from './records.js';
import { problemsOf } from './steps.js';

/** r2 sends nothing, so its balance stays. Neither number is exact as a floating-point number. */
const balance = 996_000_000_000_000_000_001n;
const gasPriceCap = 1_000_000_000_000_000_000_000_000_000_001n;

const memoReceiver = 'GAFWCK265XMRRRZAEPMAE2PTNTQA4BMIKUNVCZ3ROGFYQC5HXVUYYXXT';
/** What each client sends as the memo, first a string and then an array of integers. */
const memos = ['ff'.repeat(32), Buffer.from(Array.from({ length: 32 }, (_, index) => index)).toString('hex')];

/** The clients that generators make from the OpenAPI document. */
export const openApiSuite: ClientSuite<OpenApiClient> = {
  clients: openApiClients,
  async start() {
    const anvil = await startAnvil();
    const rig = await startAppRig({ rpcUrl: anvil.url, env: { RATE_LIMIT_REQUESTS_PER_SECOND: '0' } });
    const recordsFolder = await mkdtemp(join(tmpdir(), 'relayer-records-'));
    const stellar = await startStellarApp({ accounts: [memoReceiver] });
    await prepare(anvil, rig);
    await writeRecords(recordsFolder);
    const target: ClientTarget = { baseUrl: rig.baseUrl, stellarUrl: stellar.app.baseUrl, apiKey, recordsFolder };
    return {
      async check(client) {
        const folder = await mkdtemp(join(tmpdir(), 'relayer-client-'));
        try {
          await client.build(folder, target);
          const problems = [
            ...problemsOf(client.name, await client.run(folder, target), { balance, gasPriceCap }),
            ...(await memoProblems(stellar)),
          ];
          if (problems.length > 0) throw new Error(problems.join('\n'));
          return [];
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
      },
      async stop() {
        await stellar.stop();
        await rig.stop();
        await anvil.stop();
        await rm(recordsFolder, { recursive: true });
      },
    };
  },
};

/** Returns what is wrong with the memos of the two newest transactions. */
async function memoProblems({ app, signedContent }: StellarApp): Promise<readonly string[]> {
  const page = await app.ask('GET', '/api/v1/relayers/r1/transactions?per_page=2');
  const sent = (JSON.parse(page.text).data as { id: string }[]).toReversed();
  const signed = await Promise.all(sent.map(({ id }) => signedContent(id)));
  const written = signed.map(({ memo }) => `${memo.type} ${Buffer.from(memo.value ?? '').toString('hex')}`);
  const expected = memos.map((memo) => `hash ${memo}`);
  return written.join() === expected.join() ? [] : [`the memos are ${written}, not ${expected}`];
}

/** Gives both relayers a balance, and r2 a policy that no 64-bit integer holds. */
async function prepare(node: Anvil, service: AppRig): Promise<void> {
  for (const [id, wei] of [
    ['r1', 10n ** 21n],
    ['r2', balance],
  ] as const) {
    const { address } = JSON.parse((await service.ask('GET', `/api/v1/relayers/${id}`)).text).data;
    await node.rpc('anvil_setBalance', [address, `0x${wei.toString(16)}`]);
  }
  const changed = await service.ask('PATCH', '/api/v1/relayers/r2', { body: `{"policies":{"gas_price_cap":${gasPriceCap}}}` });
  if (changed.status !== 200) throw new Error(changed.text);
}
