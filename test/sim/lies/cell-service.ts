import { createEvmChain } from '../../../src/chains/evm/evm-chain.js';
import type { DurationClock } from '../../../src/core/work/clock.js';
import type { Random } from '../../support/seeded-random.js';
import type { SimDatabase } from '../database.js';
import type { EventLog } from '../event-log.js';
import type { Auditor } from '../evm/auditor.js';
import { decodeTransaction } from '../evm/transaction.js';
import { Violation } from '../records.js';
import { type Service, type SimRelayer, startService } from '../service.js';
import type { VirtualTime } from '../virtual-time.js';
import type { CellChain } from './cell-chain.js';
import { rpcTimeoutMs, type Story } from './cell-story.js';
import type { Liar } from './liar.js';

/** The world of a cell, as the service sees it. */
export interface CellServiceParts {
  readonly story: Story;
  readonly chain: Pick<CellChain, 'nodes' | 'network'>;
  readonly liar: Liar;
  readonly relayers: readonly SimRelayer[];
  readonly database: SimDatabase;
  readonly time: VirtualTime;
  readonly clock: DurationClock;
  readonly random: Random;
  readonly auditor: Pick<Auditor, 'broadcast' | 'received'>;
  readonly log: EventLog;
  /** Runs a task whose failure is that of the cell. */
  guarded(task: () => void): void;
}

/** Starts a process of the service. */
export function startCellService(parts: CellServiceParts): Service {
  const { story, chain, liar, relayers, database, time, clock, random, auditor, log, guarded } = parts;
  const { nodes, network } = chain;
  const { roles } = story;

  function noteSent(host: string, body: string): void {
    const calls = [JSON.parse(body)].flat() as { readonly method: string; readonly params: readonly unknown[] }[];
    log.write(`> ${host} ${calls.map(({ method, params }) => `${method.slice(4)}(${JSON.stringify(params).slice(1, 60)})`).join(' ')}`);
    for (const { method, params } of calls) {
      if (method !== 'eth_sendRawTransaction') continue;
      const { hash } = decodeTransaction(String(params[0]));
      auditor.broadcast(hash, clock.nowMs(), 2 * rpcTimeoutMs);
      auditor.received(hash);
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
        const answer = (one: string): string => nodes[indexOf(host)]?.answer(one) ?? '';
        return roles[indexOf(host)] === 'liar' ? liar.answer(body, answer) : answer(body);
      },
    },
    clock,
    relayers,
    openChain: (given) => createEvmChain({ ...given, network, rpcUrls: network.rpcUrls }),
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
