import { rest } from '../../support/callers.js';
import { startPipedService } from '../../support/piped-service.js';
import { createRelayerClient } from '../../support/relayer-client.js';
import { openRig } from '../rig.js';
import type { FaultSuite } from '../suite.js';
import { untilAll } from '../until.js';
import { createTraffic } from './traffic.js';

/** More lines than a pipe holds. */
const lines = 400;
const linesAtOnce = 50;
const path = `/relayers/${'x'.repeat(1_000)}`;

/**
 * The reader of the log stops reading while the service gets payments: payments that are accepted after that are signed and confirmed all the same. Then
 * the process is killed, and every payment is on the chain once.
 */
export const stalledLog: FaultSuite = async (run) => {
  const rig = await openRig(run, { anvil: { blockTime: 0.5 }, requiredConfirmations: 2 });
  const traffic = createTraffic(run);
  const lives = run.isShort ? 2 : 10;
  for (let life = 0; life < lives; life += 1) {
    const service = await startPipedService(rig.home);
    run.atEnd(async () => service.kill('SIGKILL'));
    run.keepLog(service.output);
    const client = createRelayerClient(service.baseUrl);
    const stop = traffic.start(client);
    await traffic.untilAccepted(1);
    service.stall();
    for (let sent = 0; sent < lines; sent += linesAtOnce)
      await Promise.all(Array.from({ length: linesAtOnce }, () => rest(service.baseUrl, 'GET', path)));
    const before = traffic.accepted.size;
    await traffic.untilAccepted(2);
    const later = await Promise.all([...traffic.accepted.values()].slice(before).map((id) => client.get(id)));
    if (later.length === 0) run.violation('no payment was accepted after the reader of the log stalled');
    await untilAll(client, later, ['confirmed'], 60_000);
    service.kill('SIGKILL');
    await service.exited;
    await stop();
  }
  const { client } = await rig.start();
  return { stalls: lives, ...(await traffic.audit(rig, client)) };
};
