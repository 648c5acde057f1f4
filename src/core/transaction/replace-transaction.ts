import { DomainError } from '../errors/errors.js';
import type { Chain } from '../ports/chain/chain.js';
import type { ContentRequest, RequestChain, RequestContext } from '../ports/chain/requests.js';
import type { Lanes, Move } from '../ports/lanes.js';
import type { SpendingReads } from '../ports/store/spending.js';
import type { SaveResponse } from '../ports/store/stored-responses.js';
import type { Asker, NeededApproval, Spend } from '../records/judgement.js';
import { type Relayer, requireActive } from '../records/relayer.js';
import {
  awaitsApproval,
  type Content,
  isSigned,
  type OpenTransaction,
  type Transaction,
  type TransactionView,
} from '../records/transaction.js';
import { beyondHeld, withContent } from '../rules/reservation.js';
import type { SpendLedger } from '../rules/spend-ledger.js';
import { type AllowedContent, allowedContent } from './allowed-content.js';
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
function requireSameSlot(chain: Pick<Chain, 'isUnsequenced'>, transaction: Transaction, content: Content): void {
  if (!isSigned(transaction) || chain.isUnsequenced(content) === (transaction.nonce === null)) return;
  const sentence =
    transaction.nonce === null
      ? 'the transaction is a fee bump of a foreign envelope; only another envelope with the same source and sequence number can replace it'
      : "the transaction uses the relayer's sequence number; an envelope signed by another account cannot replace it";
  throw new DomainError('invalid', 'FIELD_INVALID', sentence);
}

/** What a replacement is decided from, besides the transaction. */
export interface ReplacementContext extends Pick<RequestContext, 'relayer' | 'nowMs'> {
  readonly asker: Asker;
}

/**
 * Returns the content that a request gives a transaction. Throws 400 for a bad request, and 403 if the relayer's rules do not allow it, or
 * ask for approvals of what replaces a signed transaction.
 */
export function replacingContent(
  chain: Pick<RequestChain, 'contentOf' | 'judge' | 'isUnsequenced'>,
  transaction: Transaction,
  request: ContentRequest,
  context: ReplacementContext,
): AllowedContent {
  const allowed = allowedContent(chain, request, { ...context, earlier: transaction.queued ?? transaction.content });
  requireSameSlot(chain, transaction, allowed.content);
  if (allowed.approval !== null && isSigned(transaction)) throw approvedTooLate(context.relayer, allowed.approval);
  return allowed;
}

/** Throws 400 or 412 if a transaction cannot be replaced now, or not by what is valid until this time, or if the relayer signs nothing. */
export function requireReplaceable(
  transaction: Transaction,
  { relayer, nowMs }: Pick<ReplacementContext, 'relayer' | 'nowMs'>,
  { validUntilMs, expectedRevision }: { readonly validUntilMs: number | null; readonly expectedRevision: bigint | null },
): void {
  requireWaiting(transaction, 'replaced');
  requireInTime(transaction, validUntilMs, nowMs);
  readValidUntil(validUntilMs ?? undefined, nowMs);
  requireRevision(transaction, expectedRevision);
  requireActive(relayer);
}

/** Throws 403 if the limits have no room for what a replacement spends beyond what its transaction has reserved. Reserves nothing. */
export async function requireReplacementRoom(
  {
    store,
    ledger,
  }: {
    readonly store: { readonly read: Pick<SpendingReads, 'reservation'> };
    readonly ledger: Pick<SpendLedger, 'requireRoom'>;
  },
  { id, relayerId }: Pick<Transaction, 'id' | 'relayerId'>,
  spends: readonly Spend[],
): Promise<void> {
  if (spends.length > 0) await ledger.requireRoom(relayerId, beyondHeld(await store.read.reservation(id), spends));
}

/**
 * Takes the room that new content needs if it waits for something else than the content before: for approvals, or to be signed. Throws
 * `rate_limited` TOO_MANY_TRANSACTIONS. Leave it when the replacement has been committed, or was not.
 */
export function takeReplacementRoom(lanes: Pick<Lanes, 'takeRoom'>, transaction: Transaction, needed: NeededApproval | null): () => void {
  if (isSigned(transaction) || awaitsApproval(transaction) === (needed !== null)) return () => undefined;
  const { chain, account } = transaction;
  return lanes.takeRoom({ chain, account }, needed === null ? { toSign: 1, toApprove: 0 } : { toSign: 0, toApprove: 1 });
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
  const context = () => ({ relayer: asConfigured(), nowMs: deps.clock.nowMs(), asker });
  // A bad body is reported before a missing transaction. Absent fields may default to the transaction's, so the body is read again below.
  const { validUntilMs: givenUntilMs } = chain.contentOf(request, { ...context(), earlier: null });
  // A draft and a signature can take seconds, and the relayer may be paused meanwhile.
  const require = ({ transaction }: OpenTransaction) =>
    requireReplaceable(transaction, context(), { validUntilMs: givenUntilMs, expectedRevision });
  const allowedFor = ({ transaction }: OpenTransaction) => replacingContent(chain, transaction, request, context());
  const replacementOf = (open: OpenTransaction, { content, validUntilMs, spends, approval: needed } = allowedFor(open)): Replacement => {
    const { transaction } = open;
    const approval = neededApproval(needed, [...(transaction.approval?.senders ?? []), asker.apiKeyId], deps.clock.nowMs());
    const isUnlimited = spends.length === 0 && asConfigured().policies.rules === null;
    const reserve = isUnlimited ? undefined : reserving(deps, open, spends);
    const receivers = receiverKeys(chain, content, relayer.address);
    return { content, validUntilMs: validUntilMs ?? transaction.validUntilMs, approval, receivers, reserve };
  };
  let leaveRoom = (): void => undefined;
  const mustQueue = ({ transaction }: OpenTransaction) =>
    isSigned(transaction) && transaction.nonce === null && chain.unsequenced?.replacement === 'queue';

  /** The change that needs no node; null: the transaction has changed and needs `outbid`. */
  function withoutNodes(current: OpenTransaction): Move | null {
    require(current);
    const { transaction } = current;
    const allowed = allowedFor(current);
    const { content, validUntilMs, approval, receivers, reserve } = replacementOf(current, allowed);
    leaveRoom();
    leaveRoom = takeReplacementRoom(deps.lanes, transaction, allowed.approval);
    const move = { writesEvent: true, saveResponse, receivers, reserve };
    if (!isSigned(transaction)) {
      const statusReason = approval === null ? deps.lanes.whyUnsigned(transaction, content) : approvalReason(approval);
      return { ...move, steps: [replacedInPlace(transaction, { content, validUntilMs, statusReason, approval })] };
    }
    if (!mustQueue(current)) return null;
    return { ...move, steps: [replacementQueued(transaction, content, validUntilMs)] };
  }

  async function outbidBy(seen: OpenTransaction): Promise<OpenTransaction | null> {
    const allowed = allowedFor(seen);
    const replacement = replacementOf(seen, allowed);
    // Before a node is asked and a key signs; the commit reserves it.
    await requireReplacementRoom(deps, seen.transaction, allowed.spends);
    return outbid(deps, asConfigured(), seen, { purpose: 'content', replacement, require, saveResponse });
  }

  for (;;) {
    const seen = await findWithAttempts(deps.store.read, relayer.id, transactionId);
    const { transaction } = seen;
    require(seen);
    const isWithoutNodes = !isSigned(transaction) || mustQueue(seen);
    const replaced = isWithoutNodes ? await deps.lanes.move(transaction, withoutNodes).finally(() => leaveRoom()) : await outbidBy(seen);
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
