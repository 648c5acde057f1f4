import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openRig } from '../rig.js';
import type { FaultSuite } from '../suite.js';
import { createTraffic } from './traffic.js';

/** A service without its database ends by itself within this time. */
const longMs = 60_000;

/** In the last of so many rounds, the log of the database is deleted instead. A kill would lose what only the log has. */
const cycle = 5;

/**
 * The database file is moved away or replaced by an earlier copy while the service gets payments. It accepts no more of them, and ends by itself
 * with exit code 1, unless it is killed before. In some rounds, its log is deleted. Once the file is back, every payment that was answered 200 is
 * there, and on the chain once.
 */
export const lostFile: FaultSuite = async (run) => {
  const rig = await openRig(run, { anvil: { blockTime: 0.5 }, requiredConfirmations: 2 });
  const traffic = createTraffic(run);
  const file = join(rig.home.dir, 'relayer.db');
  const [moved, copy] = [`${file}.moved`, `${file}.copy`];
  const rounds = run.isShort ? 5 : 25;
  let kills = 0;
  for (let round = 0; round < rounds; round += 1) {
    const { service, client, exited } = await rig.start();
    const stop = traffic.start(client);
    copyFileSync(file, copy);
    await traffic.untilAccepted(3);
    await traffic.aWhile();
    const isLog = round % cycle === cycle - 1;
    if (isLog) rmSync(`${file}-wal`);
    else renameSync(file, moved);
    if (!isLog && round % 2 === 1) renameSync(copy, file);
    if (!isLog && round % cycle >= 2) {
      kills += 1;
      await traffic.aWhile();
      await service.kill();
    } else {
      const code = await Promise.race([exited, after(longMs)]);
      if (code !== 1) run.violation('a service whose database file or log was removed did not end with exit code 1', { code });
      await service.kill();
    }
    await stop();
    if (!isLog) renameSync(moved, file);
  }
  const { client } = await rig.start();
  return { losses: rounds, kills, ...(await traffic.audit(rig, client)) };
};

function after(ms: number): Promise<string> {
  return new Promise((resolve) => setTimeout(() => resolve('still running'), ms).unref());
}
