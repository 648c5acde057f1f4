import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LaneViewReads, OpenOfRelayer } from '../ports/store/lane-views.js';

/** Open transactions that one read counts: few enough that nothing else waits long. */
const openPerRead = 10_000;
const relayersPerRead = 64;
/** Assumed of a relayer that was not counted yet. */
const assumedOpen = 5_000;

const nothingOpen: OpenOfRelayer = { waiting: 0, inFlight: 0, oldest: null };

/** What is open of each relayer, as of the last count. */
export interface OpenCounts {
  of(relayerId: string): OpenOfRelayer;
  /** Counts the relayers whose transactions have changed, in slices. `positions`: those of their last changes. */
  count(relayerIds: readonly string[], positions: ReadonlyMap<string, number>): Promise<void>;
  forget(relayerId: string): void;
}

/** Creates the counts; nothing is counted yet. Counting ends when the signal aborts. */
export function createOpenCounts(read: Pick<LaneViewReads, 'openOf'>, stopping: AbortSignal): OpenCounts {
  /** With the position of the relayer's transactions at which that was counted. */
  const counted = new Map<string, { readonly position: number; readonly open: OpenOfRelayer }>();

  return {
    of: (relayerId) => counted.get(relayerId)?.open ?? nothingOpen,
    async count(relayerIds, positions) {
      const moved = relayerIds.filter((id) => (positions.get(id) ?? 0) !== (counted.get(id)?.position ?? 0));
      let slice: string[] = [];
      let weight = 0;
      const readSlice = async (): Promise<void> => {
        const open = await read.openOf(slice);
        for (const id of slice) counted.set(id, { position: positions.get(id) ?? 0, open: open.get(id) ?? nothingOpen });
        slice = [];
        weight = 0;
        await nextTurn();
      };
      for (const id of moved) {
        stopping.throwIfAborted();
        const before = counted.get(id)?.open;
        slice.push(id);
        weight += before === undefined ? assumedOpen : before.waiting + before.inFlight + 1;
        if (slice.length === relayersPerRead || weight >= openPerRead) await readSlice();
      }
      if (slice.length > 0) await readSlice();
    },
    forget: (relayerId) => void counted.delete(relayerId),
  };
}
