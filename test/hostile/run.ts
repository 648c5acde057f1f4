import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startAnvil } from '../support/anvil.js';
import { createRandom } from '../support/seeded-random.js';
import { createServiceHome, type RunningService, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';
import type { Attack, Ground } from './attack.js';
import { bodyAttacks } from './bodies.hostile.js';
import { attackByCost } from './costly.hostile.js';
import { frameAttacks } from './frames.hostile.js';
import { http1Attacks } from './http1.hostile.js';
import { http2Attacks } from './http2.hostile.js';
import { mutationAttacks } from './mutations.hostile.js';
import { type Probed, probeAll, probeWhile } from './probe.js';
import { attackByResets } from './resets.hostile.js';
import { layFarAndWide } from './slow.hostile.js';
import { createTarget, type Target } from './target.js';
import { attackTls } from './tls.hostile.js';
import { warmUp } from './warm-up.js';
import { attacksWithoutKey } from './without-key.hostile.js';

/**
 * How much more memory the process may have than after its warm-up, in mebibytes. What its objects take is flat; what is resident keeps some of
 * the peak, which the allocator does not give back.
 */
const allowedGrowth = { rss: 256, held: 16 };
/** A session of HTTP/2 that is dead is noticed after 10 s of quiet, and 10 s for the answer to a PING. */
const deadSessionMs = 30_000;
/** Of one attack: a broken service repeats the same violation many times. */
const shownViolations = 5;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { short: { type: 'boolean', default: false }, seed: { type: 'string', default: '1' } },
});
const isShort = values.short;
const random = createRandom(Number(values.seed));
const attacks: readonly Attack[] = [
  ...attacksWithoutKey,
  ...http2Attacks,
  ...http1Attacks,
  ...bodyAttacks,
  ...frameAttacks,
  ...mutationAttacks,
].filter(({ name }) => positionals.length === 0 || positionals.some((text) => name.includes(text)));
// Children end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

let violations = 0;
const anvil = await startAnvil({ noMining: true });
const home = await createServiceHome({
  rpcUrl: anvil.url,
  env: { NODE_OPTIONS: `--import ${new URL('./collect-on-signal.js', import.meta.url).href}` },
});
const service = await startService(home);
const startedMs = Date.now();
try {
  await siege(service);
} catch (error) {
  violation('the siege', error instanceof Error ? (error.stack ?? error.message) : String(error));
}
await service.kill();
if (positionals.length === 0) await attackTls({ home, isShort, say, violation: (sentence) => violation('TLS', sentence) });
if (positionals.length === 0 || positionals.includes('cost'))
  await attackByCost({ isShort, say, violation: (sentence) => violation('cost', sentence) });
if (positionals.length === 0 || positionals.includes('resets'))
  await attackByResets({ isShort, say, violation: (sentence) => violation('resets', sentence) });
await anvil.stop();
await home.remove();
if (violations > 0) {
  const file = join(tmpdir(), `relayer-hostile-${process.pid}.log`);
  await writeFile(file, service.output());
  say(`the service's log: ${file}`);
}
say(
  `${violations === 0 ? 'ok' : 'FAILED'}: ${violations} violations, seed ${values.seed}, ${((Date.now() - startedMs) / 1000).toFixed(0)} s`,
);
process.exit(violations === 0 ? 0 : 1);

async function siege(running: RunningService): Promise<void> {
  const target = createTarget(running);
  const probed: Probed = { count: 0, slowestMs: 0 };
  await warmUp(target, isShort);
  await probeAll(target, (sentence) => violation('warm-up', sentence), probed);
  target.closeAll();
  const before = await target.settle();
  const socketsBefore = await settledSockets(target);
  say(`warm: ${before.rss} MiB resident, ${before.held} MiB held, ${socketsBefore} sockets`);

  const slow = positionals.length === 0 ? await layFarAndWide(groundOf('slow connections', target)) : null;
  for (const attack of attacks) await launch(attack, target, probed);
  if (slow !== null) await probeWhile(slow.outlast(), target, (sentence) => violation('slow connections', sentence), probed);

  target.closeAll();
  const socketsAfter = await settledSockets(target, socketsBefore);
  if (socketsAfter > socketsBefore)
    violation('sockets', `${socketsAfter} sockets are open; before the attacks there were ${socketsBefore}`);
  const after = await target.settle();
  for (const what of ['rss', 'held'] as const) {
    if (after[what] > before[what] + allowedGrowth[what])
      violation('memory', `${what} is ${after[what]} MiB; before the attacks it was ${before[what]} MiB`);
  }
  complain('the log', target);
  say(`after: ${after.rss} MiB resident (at most ${allowedGrowth.rss} more), ${after.held} MiB held, ${socketsAfter} sockets`);
  say(
    `${target.counts.connections} connections, ${target.counts.requests} requests; ${probed.count} probes, slowest ${probed.slowestMs} ms`,
  );
}

async function launch(attack: Attack, target: Target, probed: Probed): Promise<void> {
  const ground = groundOf(attack.name, target);
  const attackedMs = Date.now();
  const violationsBefore = violations;
  const { requests, connections } = target.counts;
  const attacking = attack
    .run(ground)
    .catch((error: unknown) => ground.violation(error instanceof Error ? (error.stack ?? error.message) : String(error)));
  await probeWhile(attacking, target, ground.violation, probed);
  if (!target.lives()) throw new Error(`the service did not survive: ${attack.name}`);
  complain(attack.name, target);
  const seconds = ((Date.now() - attackedMs) / 1000).toFixed(1);
  const figures = `${target.counts.requests - requests} requests, ${target.counts.connections - connections} connections, ${seconds} s`;
  say(`${violations === violationsBefore ? 'ok  ' : 'FAIL'} ${attack.name}: ${figures}`);
}

function groundOf(name: string, target: Target): Ground {
  let told = 0;
  return {
    target,
    isShort,
    random: random.fork(name),
    say,
    violation(sentence) {
      told += 1;
      if (told <= shownViolations) violation(name, sentence);
      else violations += 1;
    },
  };
}

function complain(name: string, target: Target): void {
  const complaints = target.newComplaints();
  violations += Math.max(0, complaints.length - shownViolations);
  for (const line of complaints.slice(0, shownViolations)) violation(name, `the log contains ${line.slice(0, 1500)}`);
}

/** Open sockets once they are at most so many, or as few as they get in the time that dead sessions have. */
async function settledSockets(target: Target, atMost = 1): Promise<number> {
  let open = target.sockets();
  const isSettled = (): true | undefined => {
    open = target.sockets();
    return open <= atMost ? true : undefined;
  };
  await waitFor('sockets to close', isSettled, deadSessionMs).catch(() => undefined);
  return open;
}

function violation(name: string, sentence: string): void {
  violations += 1;
  say(`  VIOLATION ${name}: ${sentence}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
