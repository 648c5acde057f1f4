import type { DurationClock } from '../../../src/core/work/clock.js';
import type { Random } from '../../support/seeded-random.js';
import type { SimDatabase } from '../database.js';
import type { EventLog } from '../event-log.js';
import { Violation } from '../records.js';
import { type Service, startService } from '../service.js';
import type { VirtualTime } from '../virtual-time.js';
import { rpcTimeoutMs, type Story } from './cell-story.js';
import type { CellWorld } from './cell-world.js';
import type { Liar } from './liar.js';

/** The world of a cell, as the service sees it. */
export interface CellServiceParts {
  readonly story: Story;
  readonly world: Pick<CellWorld, 'one' | 'answer' | 'openChain' | 'broadcasts' | 'auditor'>;
  readonly liar: Liar;
  readonly database: SimDatabase;
  readonly time: VirtualTime;
  readonly clock: DurationClock;
  readonly random: Random;
  readonly log: EventLog;
  /** Runs a task whose failure is that of the cell. */
  guarded(task: () => void): void;
}

/** Starts a process of the service. */
export function startCellService(parts: CellServiceParts): Service {
  const { story, world, liar, database, time, clock, random, log, guarded } = parts;
  const { roles } = story;

  function noteSent(host: string, body: string): void {
    const calls = [JSON.parse(body)].flat() as { readonly method: string; readonly params: readonly unknown[] }[];
    log.write(
      `> ${host} ${calls.map(({ method, params }) => `${method.replace('eth_', '')}(${(JSON.stringify(params) ?? '').slice(1, 60)})`).join(' ')}`,
    );
    for (const hash of world.broadcasts(body)) {
      world.auditor.broadcast(hash, clock.nowMs(), 2 * rpcTimeoutMs);
      world.auditor.received(hash);
    }
  }

  return startService({
    database,
    wire: {
      time,
      fate(host, body) {
        const role = roles[indexOf(host)];
        if (role === 'away' && time.elapsedMs() >= story.fromMs) return 'lost';
        return role === 'liar' && liar.isSilent(body) ? 'acted' : 'answered';
      },
      delayMs: () => 20,
      sent: (host, body) => guarded(() => noteSent(host, body)),
      answer(host, body) {
        const answer = (one: string): string => world.answer(indexOf(host), one);
        return roles[indexOf(host)] === 'liar' ? liar.answer(body, answer) : answer(body);
      },
    },
    clock,
    relayers: [world.one],
    openChain: world.openChain,
    random: random.fork(`service ${time.elapsedMs()}`),
    rpcTimeoutMs,
    commitFate: () => 'done',
    commitDelayMs: () => 2,
    signDelayMs: null,
    isFenced: true,
    logged(level, fields, message) {
      log.write(`${level}: ${message} ${describe(fields)}`);
      const isFailure = level === 'error' && message.startsWith('lane task');
      if (isFailure)
        guarded(() => {
          throw new Violation(`the service logs: ${message} ${describe(fields)}`);
        });
    },
    lostDatabase: () => undefined,
    wroteStale: () => undefined,
    sharing: null,
  });
}

function indexOf(host: string): number {
  return Number(host.slice(1, 2));
}

function describe(fields: object): string {
  return JSON.stringify(fields, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value instanceof Error ? value.message : value,
  );
}
