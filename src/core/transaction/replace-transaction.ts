import { DomainError } from '../errors/errors.js';
import type { Chain } from '../ports/chain/chain.js';
import type { ContentRequest } from '../ports/chain/requests.js';
import type { Move } from '../ports/lanes.js';
import type { SaveResponse } from '../ports/store/stored-responses.js';
import type { Asker, NeededApproval, Spend } from '../records/judgement.js';
import { type Relayer, requireActive } from '../records/relayer.js';
import { type Content, isSigned, type OpenTransaction, type Transaction, type TransactionView } from '../records/transaction.js';
import { beyondHeld, withContent } from '../rules/reservation.js';
import { allowedContent } from './allowed-content.js';
import { approvalReason, neededApproval } from './approval.js';
import { findWithAttempts } from './find-transaction.js';
import { replacedInPlace, replacementQueued, requireInTime, requireRevision, requireWaiting } from './lifecycle.js';
import { outbid, type Replacement } from './outbid.js';
import { receiverKeys } from './receivers.js';
import type { SendDeps } from './send-transaction.js';
import { viewOf } from './transaction-changes.js';
import { readValidUntil } from './valid-until.js';

/** No caller. */
const noAsker: Asker = { apiKeyId: null };

/** How to replace. */
export interface ReplaceOptions {
  /** The revision that the transaction must have; null: any. */
  readonly expectedRevision?: bigint | null;
  readonly saveResponse?: SaveResponse<TransactionView>;
  readonly asker?: Asker;
}

/** Throws 400 if the new content could be mined beside the earlier attempts instead of in their place. */
function requireSameSlot(chain: Chain, transaction: Transaction, content: Content): void {
  if (!isSigned(transaction) || chain.isUnsequenced(content) === (transaction.nonce === null)) return;
  const sentence =
    transaction.nonce === null
      ? 'the transaction is a fee bump of a foreign envelope; only another envelope with the same source and sequence number can replace it'
      : "the transaction uses the relayer's sequence number; an envelope signed by another account cannot replace it";
  throw new DomainError('invalid', 'FIELD_INVALID', sentence);
}

/**
 * Replaces the content of a waiting transaction. Id and slot stay.
 *
 * An unsigned transaction is changed in place, without a call to a node. Otherwise the new attempt is estimated, priced above all earlier
 * ones, checked for funds, signed and stored before this resolves. If attempts cannot outbid one another, the new content is queued, in
 * place of an earlier queued replacement. If rules ask for approvals of the new content, it has none yet, and a signed transaction cannot
 * be replaced by it.
 *
 * Throws 404; 400 for a bad request, a state that allows no replacement, or an attempt that cannot be made; 412 if the revision is not the
 * expected one; 403 if the relayer is paused or disabled, or its rules forbid the content; 503 `NODE_UNAVAILABLE` or `SIGNER_UNAVAILABLE`
 * with nothing changed.
 */
export async function replaceTransaction(
  deps: SendDeps,
  relayer: Relayer,
  transactionId: string,
  request: ContentRequest,
  { expectedRevision = null, saveResponse, asker = noAsker }: ReplaceOptions = {},
): Promise<TransactionView> {
  const chain = deps.directory.chainOf(relayer);
  const asConfigured = () => deps.directory.relayer(relayer.id) ?? relayer;
  const wantedOver = (earlier: Content | null) => chain.contentOf(request, { relayer: asConfigured(), nowMs: deps.clock.nowMs(), earlier });
  // A bad body is reported before a missing transaction. Absent fields may default to the transaction's, so the body is read again below.
  const { validUntilMs: givenUntilMs } = wantedOver(null);
  const require = ({ transaction }: OpenTransaction) => {
    requireWaiting(transaction, 'replaced');
    // A draft and a signature can take seconds.
    requireInTime(transaction, givenUntilMs, deps.clock.nowMs());
    readValidUntil(givenUntilMs ?? undefined, deps.clock.nowMs());
    requireRevision(transaction, expectedRevision);
    // The relayer may be paused meanwhile.
    requireActive(asConfigured());
  };
  const replacementOf = (open: OpenTransaction): Replacement => {
    const { transaction } = open;
    const wanted = wantedOver(transaction.queued ?? transaction.content);
    const { validUntilMs } = wanted;
    requireSameSlot(chain, transaction, wanted.content);
    const { content, spends, approval: needed } = allowedContent(chain, wanted.content, asConfigured(), asker);
    if (needed !== null && isSigned(transaction)) throw approvedTooLate(relayer, needed);
    const approval = neededApproval(needed, [...(transaction.approval?.senders ?? []), asker.apiKeyId], deps.clock.nowMs());
    const isUnlimited = spends.length === 0 && asConfigured().policies.rules === null;
    const reserve = isUnlimited ? undefined : reserving(deps, open, spends);
    const receivers = receiverKeys(chain, content, relayer.address);
    return { content, validUntilMs: validUntilMs ?? transaction.validUntilMs, approval, receivers, reserve };
  };
  const mustQueue = ({ transaction }: OpenTransaction) =>
    isSigned(transaction) && transaction.nonce === null && chain.unsequenced?.replacement === 'queue';

  /** The change that needs no node; null: the transaction has changed and needs `outbid`. */
  function withoutNodes(current: OpenTransaction): Move | null {
    require(current);
    const { transaction } = current;
    const { content, validUntilMs, approval, receivers, reserve } = replacementOf(current);
    const move = { writesEvent: true, saveResponse, receivers, reserve };
    if (!isSigned(transaction)) {
      const statusReason = approval === null ? deps.lanes.whyUnsigned(transaction, content) : approvalReason(approval);
      return { ...move, steps: [replacedInPlace(transaction, { content, validUntilMs, statusReason, approval })] };
    }
    if (!mustQueue(current)) return null;
    return { ...move, steps: [replacementQueued(transaction, content, validUntilMs)] };
  }

  async function outbidBy(seen: OpenTransaction): Promise<OpenTransaction | null> {
    const replacement = replacementOf(seen);
    // Before a node is asked and a key signs; the commit reserves it.
    const { spends } = allowedContent(chain, replacement.content, asConfigured(), asker);
    if (spends.length > 0) await deps.ledger.requireRoom(relayer.id, beyondHeld(await deps.store.read.reservation(transactionId), spends));
    return outbid(deps, asConfigured(), seen, { purpose: 'content', replacement, require, saveResponse });
  }

  for (;;) {
    const seen = await findWithAttempts(deps.store.read, relayer.id, transactionId);
    const { transaction } = seen;
    require(seen);
    const replaced = !isSigned(transaction) || mustQueue(seen) ? await deps.lanes.move(transaction, withoutNodes) : await outbidBy(seen);
    if (replaced !== null) return viewOf(replaced);
  }
}

/** What is signed may be mined before the approval of its replacement. */
function approvedTooLate({ id }: Relayer, { ruleId }: NeededApproval): DomainError {
  const sentence = `the rule ${ruleId} asks for approvals of this content, and the transaction is signed already; cancel it and send the content again`;
  return new DomainError('forbidden', 'POLICY_DENIED', sentence, { metadata: { relayer_id: id, rule_id: ruleId } });
}

/** Reserves, in the commit of a replacement, what it spends beyond what the transaction has reserved, and notes what it spends. */
function reserving({ store, ledger }: SendDeps, { transaction, attempts }: OpenTransaction, spends: readonly Spend[]): Move['reserve'] {
  const { id, relayerId } = transaction;
  const fromVersion = Math.max(0, ...attempts.map(({ version }) => version)) + 1;
  return async (commit) => {
    const before = await store.read.reservation(id);
    if (before === undefined && spends.length === 0) return commit([]);
    const more = beyondHeld(before, spends);
    const next = withContent(before, { fromVersion, spends }, more);
    const { insertReservation, updateReservation } = store.change;
    const kept = before === undefined ? insertReservation(id, next) : updateReservation(id, next, before);
    if (more.length === 0) return commit([kept]);
    await ledger.withReserved(relayerId, [more], ({ changes }) => commit([...changes, kept]));
  };
}
