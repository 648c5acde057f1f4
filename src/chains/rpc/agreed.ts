import { DomainError } from '../../core/errors/errors.js';
import type { CallOptions } from './call-router.js';
import { maxOpinions, type Rpc } from './rpc.js';
import { silentForMs } from './second-reading.js';
import { askTwo } from './second-word.js';

/**
 * What endpoints show as the block that identifies the chain. `none`: none of them has it; `unproved`: others have not answered, and might
 * show another chain.
 */
export type Identity = { readonly hash: string } | 'none' | 'unproved';

/**
 * Counts what these endpoints show as the block that identifies the chain; null: that one has none. The service remembers the block for
 * ever, so one that is silent counts against it. Throws `NODE_UNAVAILABLE` while no answer has more votes than every other one.
 */
export function agreedIdentity(rpc: Pick<Rpc, 'endpoints'>, shown: readonly (string | null)[]): Identity {
  const votes = new Map<string, number>();
  for (const hash of shown) if (hash !== null) votes.set(hash, (votes.get(hash) ?? 0) + 1);
  const [first, second] = [...votes].toSorted(([, a], [, b]) => b - a);
  if (first === undefined) return 'none';
  if (first[1] === second?.[1])
    throw new DomainError('unavailable', 'NODE_UNAVAILABLE', 'RPC endpoints serve different chains; waiting until most show the same one');
  const silent = Math.min(rpc.endpoints().length, maxOpinions) - shown.length;
  return first[1] > (second?.[1] ?? 0) + silent ? { hash: first[0] } : 'unproved';
}

/** The time of a block at an endpoint. `other`: it shows another block, or none where it must have one. `none`: it has dropped it. */
export type ShownTime = number | 'other' | 'none';

/**
 * Returns the time that two endpoints show for a block; null: no two agree, or another one has not answered yet. One is believed if it is
 * the only endpoint, if no other has answered anything for a minute, or if the others have dropped the block. Throws `NODE_UNAVAILABLE`.
 */
export async function agreedTime(
  rpc: Pick<Rpc, 'endpoints' | 'silentForMs'>,
  ask: (options: CallOptions) => Promise<ShownTime>,
): Promise<number | null> {
  const answeredBy = new Set<number>();
  const { first, second, more, third } = await askTwo(rpc, async (options) => {
    const answer = await ask(options);
    for (const place of options.answeredBy ?? []) answeredBy.add(place);
    return answer;
  });
  const words = [first, ...(second.length > 0 ? second : await more())];
  if (words.length < 2) return typeof first === 'number' && rpc.silentForMs([...answeredBy]) >= silentForMs ? first : null;
  return agreed(words) ?? agreed([...words, ...(await third())]);
}

function agreed(words: readonly ShownTime[]): number | null {
  const times = words.filter((word) => typeof word === 'number');
  const [alone = null, ...more] = times;
  const twice = times.find((time, index) => times.includes(time, index + 1));
  return twice ?? (more.length === 0 && !words.includes('other') ? alone : null);
}
