import { linkSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createRelayerClient } from '../../support/relayer-client.js';
import { type FaultRig, openRig } from '../rig.js';
import type { FaultRun, FaultSuite } from '../suite.js';
import { createTraffic, type Traffic } from './traffic.js';

const ways = ['symbolic link', 'hard link', 'deleted lock file'] as const;
/** A second service that starts on the same database is refused, or ends, within this time. */
const longMs = 60_000;

/**
 * A second service is started on the database of one that works, in ways that a lock file alone does not notice, and processes are killed meanwhile. Each
 * payment that was answered 200, by whichever of the two, is in the one database, and on the chain once.
 */
export const secondService: FaultSuite = async (run) => {
  const rig = await openRig(run, { anvil: { blockTime: 0.5 }, requiredConfirmations: 2 });
  const traffic = createTraffic(run);
  const rounds = run.isShort ? 1 : 8;
  let takenOver = 0;
  for (let round = 0; round < rounds; round += 1) for (const way of ways) takenOver += await tryOn(run, rig, traffic, way);
  if (takenOver === 0) run.violation('no second service took over after the lock file was deleted');
  const { client } = await rig.start();
  return { attempts: rounds * ways.length, 'taken over': takenOver, ...(await traffic.audit(rig, client)) };
};

/** Starts a second service in this way while the first gets payments. Returns 1 if it took over. */
async function tryOn(run: FaultRun, rig: FaultRig, traffic: Traffic, way: (typeof ways)[number]): Promise<number> {
  const file = join(rig.home.dir, 'relayer.db');
  const link = join(rig.home.dir, 'other.db');
  const { service: first, client, exited } = await rig.start();
  const stopFirst = traffic.start(client);
  await traffic.untilAccepted(3);
  if (way === 'symbolic link') symlinkSync(file, link);
  if (way === 'hard link') linkSync(file, link);
  if (way === 'deleted lock file') rmSync(`${file}.lock`);
  const second = rig.launch(way === 'deleted lock file' ? {} : { DATABASE_URL: `sqlite:${link}` });
  const listening = await Promise.race([second.listening.catch(() => null), after(longMs)]);
  let takenOver = 0;
  if (listening !== null && way !== 'deleted lock file') run.violation(`a second service started on a ${way}`);
  if (listening !== null) {
    takenOver = 1;
    // Both get payments now; only one of them may accept any.
    const stopSecond = traffic.start(createRelayerClient(listening.baseUrl));
    await traffic.untilAccepted(3);
    const code = await Promise.race([exited, after(longMs)]);
    if (code !== 1) run.violation('a service whose database another one took over did not end with exit code 1', { code });
    await second.kill();
    await stopSecond();
  } else await traffic.aWhile();
  await first.kill();
  await stopFirst();
  await second.kill();
  rmSync(link, { force: true });
  return takenOver;
}

function after(ms: number): Promise<null> {
  return new Promise((resolve) => setTimeout(() => resolve(null), ms).unref());
}
