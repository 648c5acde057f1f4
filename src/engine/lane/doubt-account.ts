import type { Head } from '../../core/ports/chain.js';
import { markRelayers } from '../../core/relayer/mark-relayers.js';
import type { AccountDoubt, LaneContext } from './lane-context.js';

/** A doubt disables the relayer after this number of blocks and this long: a node that was just started, or lags, recovers sooner. */
const patience = { blocks: 8n, ms: 60_000 };

/** What a node shows about the account. */
interface Finding {
  readonly doubt: AccountDoubt;
  readonly head: Head;
  /** Why nothing can be sent. */
  readonly sentence: string;
  /** What another endpoint shows at this head, or the only one in a second answer; null: no answer. */
  readonly another: 'same' | 'different' | null;
}

/**
 * Takes note that a node shows the account as gone, or its number as far below the signed ones: no transaction takes a nonce until the node
 * shows something else. Disables the relayer only if this lasts and another endpoint shows the same at two heads, and nothing else in
 * between. A node failure never disables it: while no other endpoint answers, the relayer waits.
 */
export async function doubt(lane: LaneContext, { doubt: kind, head, sentence, another }: Finding): Promise<void> {
  const nowMs = lane.deps.clock.elapsedMs();
  const facts = { relayer: lane.relayer().id, reason: sentence };
  const shown = disablingSentence(lane);
  const known = lane.doubts.get(kind);
  if (known === undefined) lane.deps.log.warn(facts, `nonce assignment paused until a second RPC node confirms: ${sentence}`);
  const isNew = known === undefined || another === 'different';
  const before = isNew ? { sinceBlock: head.number, sinceMs: nowMs, confirmedAtHash: null, disables: false } : known;
  const isLasting = head.number - before.sinceBlock >= patience.blocks && nowMs - before.sinceMs >= patience.ms;
  const isTwice = another === 'same' && before.confirmedAtHash !== null && before.confirmedAtHash !== head.hash;
  const disables = before.disables || (isTwice && isLasting);
  const confirmedAtHash = before.confirmedAtHash ?? (another === 'same' ? head.hash : null);
  lane.doubts.set(kind, { ...before, sentence, confirmedAtHash, disables });
  if (disables && !before.disables) lane.deps.log.error(facts, 'the relayer is disabled');
  await show(lane, shown);
}

/** Removes a doubt. When none is left, the relayer is enabled again. */
export async function dismiss(lane: LaneContext, kind: AccountDoubt): Promise<void> {
  const shown = disablingSentence(lane);
  if (!lane.doubts.delete(kind)) return;
  lane.deps.log.info({ relayer: lane.relayer().id }, 'the RPC nodes show the account as expected again');
  await show(lane, shown);
}

function disablingSentence({ doubts }: LaneContext): string | null {
  return [...doubts.values()].find(({ disables }) => disables)?.sentence ?? null;
}

/** Shows the reason in the relayer. Enables only a relayer that the lane itself has disabled. */
async function show(lane: LaneContext, before: string | null): Promise<void> {
  const reason = disablingSentence(lane);
  const { id, disabledReason } = lane.relayer();
  if (disabledReason === reason || (reason === null && disabledReason !== before)) return;
  await markRelayers(lane.deps, lane.deps.log, [id], reason);
}
