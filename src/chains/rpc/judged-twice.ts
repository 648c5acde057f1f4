import type { Refusal } from '../../core/ports/chain/drafts.js';
import type { CallOptions } from './call-router.js';
import type { Rpc } from './rpc.js';
import { askTwo } from './second-word.js';

/** Two answers that may both be right differ by at most this factor. */
export const nearFactor = 4n;

/** True if two amounts may both be right. */
export function isNear(one: bigint, other: bigint): boolean {
  return one <= other * nearFactor && other <= one * nearFactor;
}

/** Asks a third endpoint; empty: none is in use, or it does not answer. */
export type Third<T> = () => Promise<readonly (T | Refusal)[]>;

/**
 * Judges by the word of two endpoints if two work. What ends a transaction, or keeps it waiting, must be the judgement of both: one that
 * lets it pass is enough. Only what one shows to be forbidden counts against the other, until a third one decides; it then waits.
 * `together` says what two that let it pass mean. Throws `NODE_UNAVAILABLE`.
 */
export async function judgedTwice<T extends object>(
  rpc: Pick<Rpc, 'endpoints'>,
  judge: (options: CallOptions) => Promise<T | Refusal>,
  together: (first: T, second: T, third: Third<T>) => T | Refusal | Promise<T | Refusal>,
): Promise<T | Refusal> {
  const { first, second: known, more, third } = await askTwo(rpc, judge);
  if (known.length === 0 && !(isRefused(first) && first.lasting)) return first;
  const [second] = known.length === 0 ? await more() : known;
  if (second === undefined) return isRefused(first) ? doubted(first) : first;
  if (!isRefused(first) && !isRefused(second)) return together(first, second, third);
  const refusals = [first, second].filter((word) => isRefused(word));
  const passing = [first, second].find((word): word is T => !isRefused(word));
  const forbidden = refusals.find(({ refused }) => refused === 'not_allowed');
  if (forbidden !== undefined && (passing !== undefined || refusals.some(({ refused }) => refused !== 'not_allowed'))) {
    if (passing === undefined) return doubted(forbidden);
    const [deciding] = await third();
    if (deciding !== undefined && !isRefused(deciding)) return passing;
    if (deciding !== undefined && isRefused(deciding) && deciding.refused === 'not_allowed') return deciding;
    return { ...forbidden, sentence: `${forbidden.sentence}, as one RPC endpoint shows and another one does not`, lasting: false };
  }
  return passing ?? refusals.find(({ lasting }) => !lasting) ?? second;
}

export function isRefused(judgement: object): judgement is Refusal {
  return 'refused' in judgement;
}

function doubted(refusal: Refusal): Refusal {
  return { ...refusal, lasting: false, isDoubted: true };
}
