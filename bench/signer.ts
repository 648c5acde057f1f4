import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as elapsed } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { computeAddress } from 'ethers';
import { type Anvil, startAnvil } from '../test/support/anvil.js';
import { addGoogleKey, type FakeGoogleKms, googleSignerOf, startFakeGoogleKms } from '../test/support/fake-google-kms.js';
import { createServiceHome, type RunningService, startService } from '../test/support/service.js';
import { processCpuUs } from './load/process-cpu.js';
import { createSenders, say } from './sends.js';

/*
 * A lane whose key is in a slow or a throttling provider: the real service with a signer of type google_cloud_kms, whose server is in this process, and anvil
 * with 1 s blocks.
 *
 *     npm run bench -- signer [-- slow throttled --sends 6000 --throttled-sends 200]
 */

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { sends: { type: 'string', default: '6000' }, 'throttled-sends': { type: 'string', default: '200' } },
});
const { agent, sendAll, untilConfirmed } = createSenders(64);

/** Runs a service whose relayer has a key in the provider, with `limits` as `SIGNER_LIMITS` has them. */
async function withSigner(
  change: (google: FakeGoogleKms) => void,
  limits: string,
  run: (service: RunningService, google: FakeGoogleKms, anvil: Anvil) => Promise<void>,
): Promise<void> {
  const releasers: (() => unknown)[] = [];
  try {
    const google = await startFakeGoogleKms({ after: (release) => releasers.push(release) });
    const address = computeAddress(`0x${Buffer.from(addGoogleKey(google, 'secp256k1').publicKey.bytes).toString('hex')}`);
    const anvil = await startAnvil({ blockTime: 1, args: ['--gas-limit', '300000000', '--order', 'fifo'] });
    releasers.push(() => anvil.stop());
    await anvil.rpc('anvil_setBalance', [address, '0x56bc75e2d63100000000']);
    const home = await createServiceHome({
      rpcUrl: anvil.url,
      // Under a cap, so that no fee bump follows the market that the benchmark itself makes.
      policies: { max_in_flight: 50_000, gas_price_cap: '100000000000' },
      env: { SIGNER_LIMITS: `google_cloud_kms=${limits}` },
    });
    releasers.push(() => home.remove());
    const file = join(home.dir, 'config.json');
    const signers = [{ id: 's1', type: 'google_cloud_kms', config: googleSignerOf(google).config }];
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), signers }));
    const service = await startService(home);
    releasers.push(() => service.stop());
    change(google);
    await run(service, google, anvil);
  } finally {
    for (const release of releasers.reverse()) await release();
  }
}

/** A provider that takes 100 ms for each signature and allows 64 at once. */
function slow(): Promise<void> {
  const count = Number(options.sends);
  return withSigner(
    (google) => {
      google.pace = () => elapsed(100);
    },
    '64/1000',
    async (service, google, anvil) => {
      const cpuUs = () => [service.pid, anvil.pid, process.pid].map((pid) => processCpuUs(pid) ?? 0);
      const before = cpuUs();
      const startMs = performance.now();
      await sendAll(service, count);
      await untilConfirmed(service, count);
      const perSecond = (count / (performance.now() - startMs)) * 1_000;
      say(
        `slow: ${count} sends confirmed at ${perSecond.toFixed(0)}/s (goal 300/s) with 100 ms per signature, at most ${google.signatures.most} at once`,
      );
      const [own, node, caller] = cpuUs().map((us, at) => Math.round((us - (before[at] ?? 0)) / count));
      say(`  processor time a transaction: service ${own} µs, node ${node} µs, provider and callers ${caller} µs`);
    },
  );
}

/** A provider that allows 10 signatures per second, which the configuration does not know. */
function throttled(): Promise<void> {
  const count = Number(options['throttled-sends']);
  return withSigner(
    (google) => {
      google.perSecond = 10;
    },
    '32',
    async (service, google) => {
      const startMs = performance.now();
      await sendAll(service, count);
      await untilConfirmed(service, count);
      const perSecond = (count / (performance.now() - startMs)) * 1_000;
      const asked = google.asked(':asymmetricSign');
      say(
        `throttled: ${count} sends confirmed at ${perSecond.toFixed(1)}/s of 10/s; ${asked} calls, ${google.signatures.throttled} of them throttled`,
      );
    },
  );
}

const modes = { slow, throttled };
const chosen = Object.entries(modes).filter(([name]) => wanted.length === 0 || wanted.includes(name));
for (const [, run] of chosen) await run();
await agent.close();
