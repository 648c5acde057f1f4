import { copyFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { openRig } from '../rig.js';
import type { FaultSuite } from '../suite.js';
import { createTraffic } from './traffic.js';

/** A service without its database ends by itself within this time. */
const longMs = 60_000;

/**
 * The database file is moved away or replaced by an earlier copy while the service gets payments. It accepts no more of them, and ends by itself
 * with exit code 1, unless it is killed before. Once the file is back, every payment that was answered 200 is there, and on the chain once.
 */
export const lostFile: FaultSuite = async (run) => {
  const rig = await openRig(run, { anvil: { blockTime: 0.5 }, requiredConfirmations: 2 });
  const traffic = createTraffic(run);
  const file = join(rig.home.dir, 'relayer.db');
  const [moved, copy] = [`${file}.moved`, `${file}.copy`];
  const rounds = run.isShort ? 4 : 24;
  let kills = 0;
  for (let round = 0; round < rounds; round += 1) {
    const { service, client, exited } = await rig.start();
    const stop = traffic.start(client);
    copyFileSync(file, copy);
    await traffic.untilAccepted(3);
    await traffic.aWhile();
    renameSync(file, moved);
    if (round % 2 === 1) renameSync(copy, file);
    if (round % 4 >= 2) {
      kills += 1;
      await traffic.aWhile();
      await service.kill();
    } else {
      const code = await Promise.race([exited, after(longMs)]);
      if (code !== 1) run.violation('a service whose database file was moved away did not end with exit code 1', { code });
      await service.kill();
    }
    await stop();
    renameSync(moved, file);
  }
  const { client } = await rig.start();
  return { losses: rounds, kills, ...(await traffic.audit(rig, client)) };
};

function after(ms: number): Promise<string> {
  return new Promise((resolve) => setTimeout(() => resolve('still running'), ms).unref());
}
