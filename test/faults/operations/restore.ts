import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sqliteDriver } from '../../../src/storage/sqlite/driver.js';
import { programFile } from '../../support/program-file.js';
import { createRelayerClient } from '../../support/relayer-client.js';
import { createServiceHome, type LaunchedService, launchService, type RunningService, type ServiceHome } from '../../support/service.js';
import { numbersFrom, paymentOf, sendAll } from '../payment.js';
import type { FaultRun, FaultSuite } from '../suite.js';

/** The restore and the service start within this time of each other. */
const greatestHeadStartMs = 800;
const greatestRestoreMs = 1_200;
const inBackup = 5;

/** When a restore is killed: at any time, or as soon as the file with this name is there. */
const moments = [null, 'relayer.db.partial', 'relayer.db'] as const;

/** A `relayer restore`. */
interface Restoring {
  /** Its exit code; null: it was killed. */
  readonly ended: Promise<number | null>;
  kill(): void;
}

/**
 * `relayer restore` and `relayer serve` begin at about the same time on the same path, and either is killed at any moment. A payment that the service
 * answered with 200 is in the database that a later start finds, a restore that succeeded is what a later start finds, and nothing is malformed.
 */
export const restore: FaultSuite = async (run) => {
  // No node is there: payments stay pending, so that a record shows which database it is in.
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  run.atEnd(() => home.remove());
  const backup = await makeBackup(run, home);
  const rounds = run.isShort ? 4 : 40;
  const figures = { rounds, restored: 0, 'started first': 0, kills: 0 };
  for (let round = 0; round < rounds; round += 1) {
    moveDatabaseAway(home, round);
    // The first round shows that a restore without trouble succeeds.
    const isKilled = round > 0 && run.random.chance(0.5);
    const restoring = startRestore(run, home, backup);
    const moment = moments[run.random.between(0, moments.length - 1)] ?? null;
    if (isKilled) {
      figures.kills += 1;
      killAt(home, restoring, moment, run.random.between(0, greatestRestoreMs));
    }
    await delay(run.random.between(0, greatestHeadStartMs));
    const launched = launch(run, home);
    const [code, service] = await Promise.all([restoring.ended, launched.listening.catch(() => null)]);
    if (code === 0) figures.restored += 1;
    const accepted = service === null ? [] : await acceptedBy(service);
    await launched.kill();
    if (code !== 0 && service !== null) figures['started first'] += 1;
    await checkNextStart(run, home, { isRestored: code === 0, accepted, round });
  }
  if (figures.restored === 0) run.violation('no restore succeeded, so the suite shows nothing', figures);
  return figures;
};

function launch(run: FaultRun, home: ServiceHome): LaunchedService {
  const launched = launchService(home);
  run.atEnd(() => launched.kill());
  run.keepLog(launched.output);
  return launched;
}

/** Returns the path of a backup that contains waiting transactions. */
async function makeBackup(run: FaultRun, home: ServiceHome): Promise<string> {
  const file = join(home.dir, 'backup.db');
  const launched = launch(run, home);
  const { baseUrl } = await launched.listening;
  await sendAll(createRelayerClient(baseUrl), numbersFrom(0, inBackup));
  const child = spawn(process.execPath, [programFile, 'backup', file], { env: { PATH: process.env.PATH, ...home.env }, stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`relayer backup ended with ${code}`);
  await launched.kill();
  return file;
}

function startRestore(run: FaultRun, home: ServiceHome, backup: string): Restoring {
  const child = spawn(process.execPath, [programFile, 'restore', backup], {
    env: { PATH: process.env.PATH, ...home.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  run.keepLog(() => output);
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  run.atEnd(async () => void child.kill('SIGKILL'));
  return { ended, kill: () => void child.kill('SIGKILL') };
}

function killAt({ dir }: ServiceHome, restoring: Restoring, moment: (typeof moments)[number], afterMs: number): void {
  if (moment === null) {
    setTimeout(restoring.kill, afterMs);
    return;
  }
  const looking = setInterval(() => {
    if (existsSync(join(dir, moment))) restoring.kill();
  }, 1);
  void restoring.ended.then(() => clearInterval(looking));
}

/** As the documentation says: the database with its log, and nothing else. */
function moveDatabaseAway({ dir }: ServiceHome, round: number): void {
  const away = join(dir, `away-${round}`);
  mkdirSync(away);
  for (const name of readdirSync(dir).filter((one) => /^relayer\.db(-wal|-shm)?$/.test(one))) renameSync(join(dir, name), join(away, name));
}

/** Sends payments; returns the ids of those that were answered 200. */
async function acceptedBy({ baseUrl }: RunningService): Promise<readonly string[]> {
  const client = createRelayerClient(baseUrl);
  const answers = await Promise.all([100, 101, 102].map((index) => client.send(paymentOf(index)).catch(() => null)));
  return answers.flatMap((answer) => answer?.record?.id ?? []);
}

/** What must be true of the database after a round. */
interface Expected {
  readonly isRestored: boolean;
  readonly accepted: readonly string[];
  readonly round: number;
}

async function checkNextStart(run: FaultRun, home: ServiceHome, { isRestored, accepted, round }: Expected): Promise<void> {
  const launched = launch(run, home);
  const service = await launched.listening.catch(() => null);
  if (service === null)
    return run.violation('the service does not start after a restore', { round, output: launched.output().slice(-500) });
  const records = await createRelayerClient(service.baseUrl).list();
  const ids = new Set(records.map(({ id }) => id));
  const lost = accepted.filter((id) => !ids.has(id));
  if (lost.length > 0) run.violation('LOST: a payment that was answered 200 is not in the database', { round, lost });
  const failed = records.filter(({ status, status_reason }) => status === 'failed' && status_reason?.startsWith('restored from a backup'));
  if (isRestored && failed.length !== inBackup)
    run.violation('a restore succeeded, but the database is another one', { round, failed: failed.length });
  await launched.kill();
  const db = new (sqliteDriver())(join(home.dir, 'relayer.db'), { readonly: true });
  const integrity = db.pragma('integrity_check', { simple: true });
  db.close();
  if (integrity !== 'ok') run.violation('the database is damaged', { round, integrity });
}
