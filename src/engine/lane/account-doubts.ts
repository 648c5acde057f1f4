import type { Head } from '../../core/ports/chain/head.js';
import { markRelayers } from '../../core/relayer/mark-relayers.js';
import { isOver, type Lasting, lasted, seenAt } from '../../core/work/patience.js';
import type { LaneInputs } from './lane-inputs.js';

/**
 * A claim of a node about the account, which may be wrong. `absent`: it no longer exists. `reset`: its nonce is far below what was signed.
 * If true, the chain was reset, or the account removed. `unusable`: see `Chain.whyUnusable`.
 */
export type AccountDoubt = 'absent' | 'reset' | 'unusable';

/** A doubt disables the relayer after this number of heads and this long: a node that was just started, or lags, recovers sooner. */
const patience = { heads: 8, ms: 60_000 };

/** What a node shows about the account. */
interface Finding {
  readonly doubt: AccountDoubt;
  readonly head: Head;
  /** Why nothing can be sent. */
  readonly sentence: string;
  /** What another endpoint shows at this head, or the only one in a second answer; null: no answer. */
  readonly another: 'same' | 'different' | null;
}

/** A doubt that nodes have not removed. */
interface Doubt extends Lasting {
  readonly sentence: string;
  /** The first head at which another endpoint showed the same; null: none yet. */
  readonly confirmedAtHash: string | null;
  /** The relayer is disabled for it. */
  readonly disables: boolean;
}

/** The doubts whether the account still is what the lane has signed for. While there is one, nothing takes a nonce. */
export interface AccountDoubts {
  has(doubt: AccountDoubt): boolean;
  /** Why nothing takes a nonce; null: there is no doubt. */
  sentence(): string | null;
  /**
   * Takes note that a node shows the account as gone or unusable, or its number as far below the signed ones: no transaction takes a nonce
   * until the node shows something else. Disables the relayer only if this lasts and another endpoint shows the same at two heads, and
   * nothing else in between. A node failure never disables it: while no other endpoint answers, the relayer waits.
   */
  note(finding: Finding): Promise<void>;
  /** Removes a doubt. When none is left, the relayer is enabled again. */
  dismiss(doubt: AccountDoubt): Promise<void>;
  /** A transaction was refused because the account is unusable: it is read at the next head. */
  suspectUnusable(): void;
  /** True if the account must be read. */
  isUnusableSuspected(): boolean;
}

/** Creates the doubts of a lane that has none. */
export function createAccountDoubts({ deps, relayer }: Pick<LaneInputs, 'deps' | 'relayer'>): AccountDoubts {
  const doubts = new Map<AccountDoubt, Doubt>();
  let isSuspected = false;

  function disablingSentence(): string | null {
    return [...doubts.values()].find(({ disables }) => disables)?.sentence ?? null;
  }

  /** Shows the reason in the relayer. Enables only a relayer that the lane itself has disabled. */
  async function show(before: string | null): Promise<void> {
    const reason = disablingSentence();
    const { id, disabledReason } = relayer();
    if (disabledReason === reason || (reason === null && disabledReason !== before)) return;
    await markRelayers(deps, deps.log, [id], reason);
  }

  return {
    has: (doubt) => doubts.has(doubt),
    sentence() {
      const [first] = doubts.values();
      return first?.sentence ?? null;
    },
    async note({ doubt, head, sentence, another }) {
      const nowMs = deps.clock.elapsedMs();
      const facts = { relayer: relayer().id, reason: sentence };
      const shown = disablingSentence();
      const known = doubts.get(doubt);
      if (known === undefined) deps.log.warn(facts, `nonce assignment paused until a second RPC node confirms: ${sentence}`);
      const isNew = known === undefined || another === 'different';
      const before = isNew ? { confirmedAtHash: null, disables: false } : known;
      const lasting = seenAt(isNew ? null : known, head, nowMs);
      const isLasting = isOver(patience, lasted(lasting, nowMs));
      const isTwice = another === 'same' && before.confirmedAtHash !== null && before.confirmedAtHash !== head.hash;
      const disables = before.disables || (isTwice && isLasting);
      const confirmedAtHash = before.confirmedAtHash ?? (another === 'same' ? head.hash : null);
      doubts.set(doubt, { ...lasting, sentence, confirmedAtHash, disables });
      if (disables && !before.disables) deps.log.error(facts, 'the relayer is disabled');
      await show(shown);
    },
    suspectUnusable() {
      isSuspected = true;
    },
    isUnusableSuspected: () => isSuspected || doubts.has('unusable'),
    async dismiss(doubt) {
      if (doubt === 'unusable') isSuspected = false;
      const shown = disablingSentence();
      if (!doubts.delete(doubt)) return;
      deps.log.info({ relayer: relayer().id }, 'the RPC nodes show the account as expected again');
      await show(shown);
    },
  };
}
