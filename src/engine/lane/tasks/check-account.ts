import { nullIfUnavailable } from '../../../core/errors/unavailable.js';
import type { Head } from '../../../core/ports/chain/head.js';
import type { LaneContext } from '../lane-context.js';

/**
 * Reads whether the account can still act, if a transaction was refused because it cannot, or nodes say of a signed one that no block can
 * include it. If it cannot, another endpoint confirms it, and the doubt disables the relayer. Throws `NODE_UNAVAILABLE`.
 */
export async function checkAccount(lane: LaneContext, head: Head): Promise<void> {
  const { chain, doubts, id } = lane;
  if (!doubts.isUnusableSuspected() && !hasHopelessAttempt(lane)) return;
  const sentence = await chain.whyUnusable(id.account, 'head');
  if (sentence === null) return doubts.dismiss('unusable');
  const second = await chain
    .whyUnusable(id.account, 'another')
    .then((why) => (why === null ? 'different' : 'same'))
    .catch(nullIfUnavailable);
  await doubts.note({ doubt: 'unusable', head, sentence, another: second });
}

function hasHopelessAttempt({ transactions }: LaneContext): boolean {
  for (const { transaction } of transactions.slotted())
    for (const { obstacle } of transactions.tracked(transaction.id)?.attempts.values() ?? [])
      if (obstacle?.because === 'content' || obstacle?.because === 'invalid') return true;
  return false;
}
