import assert from 'node:assert/strict';
import { waitFor } from '../support/wait-for.js';
import type { CuttingProxy } from './cutting-proxy.js';

/*
 * A program watches a relayer while its transactions go through all their states, and the connection of every watch is cut after each 50 changes.
 * During each cut at least one transaction becomes final: a watch that resumes without its token never sees that.
 *
 * The program prints what its watches see, and this file judges it:
 *
 *     opened <watch>                            the first message of a stream has arrived
 *     change <watch> <id> <revision> <status>   a record, with the name of the enum's value
 */

/** Before each cut, every watch has followed so many changes on its present connection. */
const changesPerCut = 50;
const cutsWanted = 20;
/** Changes that each watch must have followed. */
const changesWanted = 1_000;
/** Transactions that are open at the same time. */
const mostOpen = 30;
const statusPrefix = 'TRANSACTION_STATUS_';
const finalStatuses = new Set(['confirmed', 'failed', 'expired', 'canceled']);

/** The parts of a rig that the scenario uses. */
export interface CutRig {
  readonly proxy: CuttingProxy;
  /** Sends one transaction, and returns its id. */
  send(): Promise<string>;
  mine(): Promise<void>;
  /** The number of the relayer's transactions in these statuses. */
  count(statuses: readonly string[]): Promise<number>;
  /** The revision and the status of a transaction, as REST shows them. */
  read(id: string): Promise<LastSeen>;
}

interface LastSeen {
  readonly revision: number;
  readonly status: string;
}

/** What one watch of the program has seen. */
interface Watch {
  /** Streams whose first message has arrived. */
  opened: number;
  messages: number;
  /** The sum of what the revisions grew by: a slow reader does not get the states in between. */
  changes: number;
  /** Changes since the present stream was opened. */
  changesOfStream: number;
  readonly records: Map<string, LastSeen>;
}

/** One run of the scenario, with one program. */
export interface CutWatches {
  /** Takes a line of the program. Returns false if the line is of another kind. Throws if a record came out of order. */
  take(line: string): boolean;
  /** Resolves, when every one of so many watches has seen everything, to a remark for the log. Rejects if one misses something, or if the signal ends it. */
  run(watchCount: number, signal: AbortSignal): Promise<string>;
}

/** Prepares a run. */
export function createCutWatches({ proxy, send, mine, count, read }: CutRig): CutWatches {
  const watches = new Map<string, Watch>();
  const ids: string[] = [];
  let cuts = 0;

  function watchOf(name: string): Watch {
    const watch = watches.get(name) ?? { opened: 0, messages: 0, changes: 0, changesOfStream: 0, records: new Map() };
    watches.set(name, watch);
    return watch;
  }

  /** Sends and mines until the cuts are done, and then until everything is final. */
  async function move(isEnough: () => boolean, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const open = await count(['pending', 'sent', 'submitted', 'mined']);
      if (isEnough() && open === 0) return;
      if (!isEnough() && open < mostOpen) ids.push(...(await Promise.all(Array.from({ length: 10 }, send))));
      await mine();
    }
  }

  async function cutAgainAndAgain(signal: AbortSignal): Promise<void> {
    const all = [...watches.values()];
    const until = async (what: string, holds: () => boolean | Promise<boolean>) => {
      const look = async () => {
        signal.throwIfAborted();
        return (await holds()) ? true : undefined;
      };
      await waitFor(what, look).catch((error: unknown) => assert.fail(`${error} ${figures()}`));
    };
    while (cuts < cutsWanted || all.some(({ changes }) => changes < changesWanted)) {
      await until('changes on every watch', () => all.every(({ changesOfStream }) => changesOfStream >= changesPerCut));
      const openedBefore = all.map(({ opened }) => opened);
      assert.ok(proxy.cut() > 0, 'there is no connection to cut');
      cuts += 1;
      const finalBefore = await count([...finalStatuses]);
      await until('a transaction to become final during a cut', async () => (await count([...finalStatuses])) > finalBefore);
      proxy.restore();
      await until('every watch to resume', () => all.every(({ opened }, index) => opened > (openedBefore[index] ?? 0)));
    }
  }

  function figures(): string {
    const each = [...watches].map(
      ([name, { opened, messages, changes }]) => `${name}: ${opened} streams, ${messages} messages, ${changes} changes`,
    );
    return `(${cuts} cuts; ${each.join('; ')})`;
  }

  /** Throws unless each watch has been cut and has read as often as this scenario promises. */
  function assertFigures(watchCount: number): void {
    assert.equal(watches.size, watchCount);
    assert.ok(cuts >= cutsWanted, figures());
    for (const { opened, changes } of watches.values()) {
      assert.ok(opened > cuts && changes >= changesWanted && changes >= cuts * changesPerCut, figures());
    }
  }

  return {
    take(line) {
      const [word, name = '', id = '', revisionText = '', statusText = ''] = line.split(' ');
      if (word !== 'opened' && word !== 'change') return false;
      const watch = watchOf(name);
      if (word === 'opened') {
        watch.opened += 1;
        watch.changesOfStream = 0;
        return true;
      }
      const revision = Number(revisionText);
      const status = statusText.replace(statusPrefix, '').toLowerCase();
      const before = watch.records.get(id) ?? { revision: 0, status: 'pending' };
      assert.ok(revision > before.revision, `${name}: ${id} went from revision ${before.revision} to ${revision}`);
      assert.ok(!finalStatuses.has(before.status), `${name}: ${id} changed after it was ${before.status}`);
      watch.records.set(id, { revision, status });
      watch.messages += 1;
      watch.changes += revision - before.revision;
      watch.changesOfStream += revision - before.revision;
      return true;
    },
    async run(watchCount, signal) {
      assert.equal(watches.size, watchCount);
      let isEnough = false;
      const failed = new AbortController();
      const either = AbortSignal.any([signal, failed.signal]);
      const moving = move(() => isEnough, either);
      const cutting = cutAgainAndAgain(either).then(() => {
        isEnough = true;
      });
      try {
        await Promise.all([moving, cutting]);
      } finally {
        // The failure of one ends the other.
        failed.abort(new Error('the scenario failed'));
        await Promise.allSettled([moving, cutting]);
        proxy.restore();
      }
      for (const id of ids) {
        const last = await read(id);
        assert.ok(finalStatuses.has(last.status), `${id} is ${last.status}`);
        for (const [name, { records }] of watches) {
          const isSeen = () => {
            signal.throwIfAborted();
            return records.get(id)?.revision === last.revision ? true : undefined;
          };
          await waitFor(`${name} to see revision ${last.revision} of ${id}, not ${records.get(id)?.revision}`, isSeen, 10_000);
          assert.equal(records.get(id)?.status, last.status, `${name}: ${id}`);
        }
      }
      assertFigures(watchCount);
      const fewest = (figure: 'changes' | 'messages') => Math.min(...[...watches.values()].map((watch) => watch[figure]));
      const figuresOfEach = `at least ${fewest('changes')} changes of ${ids.length} transactions in ${fewest('messages')} messages`;
      return `${watchCount} watches cut ${cuts} times, each read ${figuresOfEach}`;
    },
  };
}
