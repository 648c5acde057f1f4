/* `npm run bench -- bad-calls [--rounds 5]`. See README.md here. */
import { parseArgs } from 'node:util';
import { createTarget } from '../test/hostile/target.js';
import { startAnvil } from '../test/support/anvil.js';
import { rest } from '../test/support/callers.js';
import { hostileCalls } from '../test/support/hostile-calls.js';
import { createServiceHome, startService } from '../test/support/service.js';
import { percentile } from './reads.js';
import { say } from './sends.js';

/* How long a refused call by function holds the event loop of the service: the processor time of its longest turn, since other processes disturb a clock. */

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
const goalMs = 50;

const chain = await startAnvil();
const home = await createServiceHome({
  rpcUrl: chain.url,
  env: { NODE_OPTIONS: `--import ${new URL('../test/hostile/collect-on-signal.js', import.meta.url).href}` },
});
const service = await startService(home);
try {
  const target = createTarget(service);
  const bodies = hostileCalls.map(({ name, call }) => {
    const abi = call.abi === undefined ? '' : `,"abi":${call.abi}`;
    const called = `{"function":${JSON.stringify(call.function)},"args":${call.args}${abi}}`;
    return { name, body: `{"to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","value":0,"call":${called}}` };
  });
  const send = async (body: string): Promise<void> => {
    const { status, text } = await rest(service.baseUrl, 'POST', `/relayers/${home.relayerId}/transactions`, body);
    if (status !== 400) throw new Error(`answered ${status}: ${text}`);
  };
  // The code is compiled before the first figure.
  for (const { body } of bodies) await send(body);
  for (const { name, body } of bodies) {
    const turns: number[] = [];
    for (let round = 0; round < Number(options.rounds); round += 1) {
      await target.turnCpuMs();
      await send(body);
      turns.push(await target.turnCpuMs());
    }
    // A collection of garbage may fall into any of them.
    const usualMs = percentile(turns, 0.5);
    if (usualMs > goalMs) process.exitCode = 1;
    say(
      `${usualMs > goalMs ? 'SLOW' : 'ok  '} ${name}: ${usualMs.toFixed(1)} ms (worst ${Math.max(...turns).toFixed(1)} ms, goal ${goalMs})`,
    );
  }
} finally {
  await service.stop();
  await home.remove();
  await chain.stop();
}
