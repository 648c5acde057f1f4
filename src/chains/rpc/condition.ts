import type { Log } from '../../core/ports/log.js';
import { nodeText } from './answer.js';

const firstPauseMs = 1_000;
const greatestPauseMs = 60_000;
/** A hostile or mistaken `Retry-After` must not take a URL out of service for days. */
const greatestRetryAfterMs = 5 * 60_000;
/** A URL that worked this long is forgiven its earlier failures: its next pause is short again. */
const forgivenAfterMs = 60_000;

/** Why a URL rests. */
export type Trouble =
  | { readonly kind: 'failing'; readonly detail: string; readonly retryAfterMs: number | null }
  /** Its head is several blocks behind the best that is known. */
  | { readonly kind: 'lagging'; readonly detail: string }
  | { readonly kind: 'other_chain'; readonly answered: string };

/** Orders calls and failures; a clock would not, since many of them fall into one millisecond. */
export type CallMark = number;

/** How a URL stands: ready, or resting for a pause that doubles from failure to failure. Each change is logged once. */
export interface Condition {
  /** From a failure until it is known to work again: others are asked first. */
  isResting(): boolean;
  /** Resting, and the pause is over: it may be tried. */
  isDue(): boolean;
  /** Resting, and not to be asked even where nobody else is left: it asked for that, or is on another chain. */
  isBarred(): boolean;
  restsUntilMs(): number;
  /** Marks the beginning of a call. */
  begin(): CallMark;
  /** The call failed. One that began before the rest tells nothing new. */
  failed(trouble: Trouble, call: CallMark): void;
  /** The call was answered. A lagging URL answers too, so only its height brings it back: see `caughtUp`. */
  worked(call: CallMark): void;
  caughtUp(): void;
}

interface Rest {
  readonly kind: Trouble['kind'];
  readonly since: CallMark;
  readonly untilMs: number;
  readonly isBarred: boolean;
}

/** Makes the condition of a URL, ready. `expected` is what its node says of its network when it is ours, for the log. */
export function createCondition(networkName: string, host: string, expected: string, log: Log): Condition {
  let rest: Rest | null = null;
  let failures = 0;
  let readySinceMs = 0;
  let marks: CallMark = 0;

  function tell(trouble: Trouble): void {
    if (trouble.kind === 'other_chain') {
      log.error(
        { network: networkName, host, expected, answered: nodeText(trouble.answered) },
        'an RPC URL is on another chain and is not used',
      );
    } else if (trouble.kind === 'lagging') {
      log.warn({ network: networkName, host, trouble: trouble.detail }, 'an RPC URL lags behind and rests');
    } else {
      log.warn({ network: networkName, trouble: trouble.detail }, 'an RPC URL cannot be asked');
    }
  }

  function recover(): void {
    log.info({ network: networkName, host }, 'an RPC URL can be asked again');
    rest = null;
    readySinceMs = Date.now();
  }

  return {
    isResting: () => rest !== null,
    isDue: () => rest !== null && rest.untilMs <= Date.now(),
    isBarred: () => rest?.isBarred === true && rest.untilMs > Date.now(),
    restsUntilMs: () => rest?.untilMs ?? 0,
    begin: () => ++marks,
    failed(trouble, call) {
      const nowMs = Date.now();
      if (rest !== null && call < rest.since) return;
      if (rest === null && nowMs - readySinceMs > forgivenAfterMs) failures = 0;
      const askedMs = trouble.kind === 'failing' ? Math.min(trouble.retryAfterMs ?? 0, greatestRetryAfterMs) : 0;
      const pauseMs =
        trouble.kind === 'other_chain' ? greatestPauseMs : Math.min(greatestPauseMs, firstPauseMs * 2 ** Math.min(failures, 10));
      failures += 1;
      if (rest?.kind !== trouble.kind) tell(trouble);
      rest = {
        kind: trouble.kind,
        since: ++marks,
        untilMs: nowMs + Math.max(pauseMs, askedMs),
        isBarred: trouble.kind === 'other_chain' || askedMs > 0,
      };
    },
    worked(call) {
      if (rest !== null && rest.kind !== 'lagging' && call > rest.since) recover();
    },
    caughtUp() {
      if (rest?.kind === 'lagging') recover();
    },
  };
}
