import type { Draft } from '../ports/chain/drafts.js';
import { type DatabaseState, requireNoHold } from '../ports/database-state.js';
import type { Directory } from '../ports/directory.js';
import type { Relayer } from '../records/relayer.js';
import { type Attempt, awaitsApproval, type Intent, type OpenTransaction } from '../records/transaction.js';
import type { Clock } from '../work/clock.js';
import type { Journal } from './journal.js';

/** What signs an attempt. */
interface SigningDeps {
  readonly directory: Directory;
  readonly database: Pick<DatabaseState, 'ownHold'>;
  readonly clock: Clock;
  readonly journal: Journal;
}

/**
 * Signs a draft as the transaction's next attempt; a null nonce is for an unsequenced transaction. The caller stores the attempt before
 * anything broadcasts it. Calls no node. Throws SigningHeldError during a hold, and signs no content that waits for approval.
 */
export async function signAttempt(
  deps: SigningDeps,
  relayer: Relayer,
  { transaction, attempts }: OpenTransaction,
  { draft, nonce, purpose }: { readonly draft: Draft; readonly nonce: bigint | null; readonly purpose: Intent },
): Promise<Attempt> {
  requireNoHold(deps.database);
  if (purpose === 'content' && awaitsApproval(transaction)) throw new Error(`transaction ${transaction.id} is not approved`);
  const step = deps.journal.step('transaction signed', transaction);
  const { hash, raw, fields } = await deps.directory.chainOf(relayer).sign(draft, nonce, deps.directory.signerOf(relayer));
  step?.end(null, { 'transaction.hash': hash });
  return {
    transactionId: transaction.id,
    chain: transaction.chain,
    account: transaction.account,
    version: (attempts.at(-1)?.version ?? 0) + 1,
    purpose,
    nonce,
    hash,
    raw,
    fields,
    createdAtMs: deps.clock.nowMs(),
  };
}
