import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Anvil, startAnvil } from '../../support/anvil.js';
import { type AppRig, startAppRig } from '../../support/app-rig.js';
import { apiKey } from '../../support/service.js';
import type { ClientSuite } from '../suite.js';
import { type ClientTarget, type OpenApiClient, openApiClients } from './generators.js';
import { writeRecords } from './records.js';
import { problemsOf } from './steps.js';

/** r2 sends nothing, so its balance stays. Neither number is exact as a floating-point number. */
const balance = 996_000_000_000_000_000_001n;
const gasPriceCap = 1_000_000_000_000_000_000_000_000_000_001n;

/** The clients that generators make from the OpenAPI document. */
export const openApiSuite: ClientSuite<OpenApiClient> = {
  clients: openApiClients,
  async start() {
    const anvil = await startAnvil();
    const rig = await startAppRig({ rpcUrl: anvil.url, env: { RATE_LIMIT_REQUESTS_PER_SECOND: '0' } });
    const recordsFolder = await mkdtemp(join(tmpdir(), 'relayer-records-'));
    await prepare(anvil, rig);
    await writeRecords(recordsFolder);
    const target: ClientTarget = { baseUrl: rig.baseUrl, apiKey, recordsFolder };
    return {
      async check(client) {
        const folder = await mkdtemp(join(tmpdir(), 'relayer-client-'));
        try {
          await client.build(folder, target);
          const problems = problemsOf(client.name, await client.run(folder, target), { balance, gasPriceCap });
          if (problems.length > 0) throw new Error(problems.join('\n'));
          return [];
        } finally {
          await rm(folder, { recursive: true, force: true });
        }
      },
      async stop() {
        await rig.stop();
        await anvil.stop();
        await rm(recordsFolder, { recursive: true });
      },
    };
  },
};

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
