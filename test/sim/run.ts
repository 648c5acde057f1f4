import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { type Fault, faultsOf, type SimNetwork, simNetworks } from './faults.js';
import { type RunResult, runSeed } from './run-seed.js';

/*
 * Simulates the engine: the production code with virtual time, in a world that a seed makes.
 *
 *     npm run suite -- sim --seeds 500              seeds 1 to 500
 *     npm run suite -- sim --from 501 --seeds 500   the next ones
 *     npm run suite -- sim --seed 17                one seed, with its last events
 *
 *     npm run suite -- sim --network solana      on Solana or Stellar; default: EVM
 *     npm run suite -- sim --instances 3         three instances of the service on one database; default: one
 *     npm run suite -- sim --first               ends at the first violation
 *     npm run suite -- sim --faults reorg,lag    worlds with these faults only
 *     npm run suite -- sim --with 'hung owner'   worlds that have these faults besides those that the seed chooses
 *
 * One seed in ten runs twice, and both runs must have the same events.
 */

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    tail: { type: 'string', default: '80' },
    first: { type: 'boolean', default: false },
    faults: { type: 'string' },
    with: { type: 'string' },
    network: { type: 'string', default: 'evm' },
    instances: { type: 'string', default: '1' },
  },
});
const network = networkFrom(values.network);
const instances = Number(values.instances);
const faultsIn = (names: string | undefined) => (names === undefined ? undefined : new Set(names.split(',').map(faultFrom)));
const choice = { only: faultsIn(values.faults), also: faultsIn(values.with) };
const from = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function faultFrom(name: string): Fault {
  const all = faultsOf(network, instances);
  const fault = all.find((one) => one === name);
  if (fault === undefined) throw new Error(`${JSON.stringify(name)} is not a fault; the faults are: ${all.join(', ')}`);
  return fault;
}

function networkFrom(name: string): SimNetwork {
  const known = simNetworks.find((one) => one === name);
  if (known === undefined) throw new Error(`--network must be one of: ${simNetworks.join(', ')}`);
  return known;
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  } catch {
    return 'unknown';
  }
}

function report({ seed, violation, tail, faults: present }: RunResult): void {
  print(`seed ${seed} at commit ${commit()}: ${violation}`);
  print(
    `repeat it: npm run suite -- sim${network === 'evm' ? '' : ` --network ${network}`}${instances === 1 ? '' : ` --instances ${instances}`} --seed ${seed}`,
  );
  print(`faults: ${[...present].join(', ')}`);
  for (const line of tail.slice(Math.max(0, tail.length - Number(values.tail)))) print(`    ${line}`);
}

/** The service would have ended. */
let rejection: unknown = null;
process.on('unhandledRejection', (error) => {
  rejection = error ?? 'a rejection without a reason';
});

const startedMs = performance.now();
const failed: number[] = [];
const met = new Map<string, number>();
let requests = 0;
let staleOwners = 0;
let staleWrites = 0;
let virtualMs = 0;
let healingMs = 0;
let worstCalls = 0;
for (let seed = from; seed < from + count && !(values.first && failed.length > 0); seed += 1) {
  const result = await runSeed(network, instances, seed, choice);
  requests += result.requests;
  staleOwners += result.staleOwners;
  staleWrites += result.staleWrites;
  virtualMs += result.virtualMs;
  if (result.healingMs > healingMs) healingMs = result.healingMs;
  if (result.worstCallsPerSecond > worstCalls) worstCalls = result.worstCallsPerSecond;
  for (const [what, times] of result.met) met.set(what, (met.get(what) ?? 0) + times);
  let { violation } = result;
  if (rejection !== null) violation = `nothing handles a rejection: ${rejection instanceof Error ? rejection.stack : String(rejection)}`;
  rejection = null;
  if (violation === null && (count === 1 || seed % 10 === 0)) {
    const again = await runSeed(network, instances, seed, choice);
    if (again.digest !== result.digest) violation = `two runs differ: ${result.digest} and ${again.digest}`;
  }
  if (violation !== null) {
    failed.push(seed);
    report({ ...result, violation });
  } else if (values.seed !== undefined) report({ ...result, violation: 'no violation' });
}
const seconds = (performance.now() - startedMs) / 1000;
for (const [what, times] of [...met].sort()) print(`${String(times).padStart(8)}  ${what}`);
print(
  `${count} seeds in ${seconds.toFixed(1)} s (${(count / seconds).toFixed(1)} per second): ${requests} requests, ${staleOwners} stale owners refused, ${staleWrites} batches of unfenced ones, ${(virtualMs / 3_600_000).toFixed(1)} virtual hours, ` +
    `longest healing ${(healingMs / 60_000).toFixed(1)} virtual minutes, at most ${worstCalls.toFixed(0)} node calls per second`,
);
print(failed.length === 0 ? 'no violation' : `${failed.length} seeds failed: ${failed.join(', ')}`);
if (failed.length > 0) process.exitCode = 1;
