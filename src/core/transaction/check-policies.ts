import type { ContentRequest, TypedData } from '../ports/chain/requests.js';
import type { Directory } from '../ports/directory.js';
import type { AttemptReads } from '../ports/store/attempts.js';
import type { SpendingReads } from '../ports/store/spending.js';
import type { TransactionReads } from '../ports/store/transactions.js';
import type { Asker, NeededApproval } from '../records/judgement.js';
import { type Relayer, requireActive } from '../records/relayer.js';
import { type RequireSigningDeps, requireSigning, type WantedSignature } from '../rules/signing-rules.js';
import { type LimitUsage, type SpendUsageDeps, usageOfSpends } from '../rules/spend-usage.js';
import { type AllowedSignature, allowedSignature } from '../rules/typed-data-rules.js';
import type { Allowed } from './allowed-content.js';
import { type CallRefusal, refusalsBy, type SendRefusalDeps, sendRefusals } from './call-refusals.js';
import { findWithAttempts } from './find-transaction.js';
import { contentToQuote, unrestricted } from './quote-transaction.js';
import { replacingContent, requireReplaceable, requireReplacementRoom, takeReplacementRoom } from './replace-transaction.js';
import type { WantedTransaction } from './send-transaction.js';

/*
 * Says what a call would be answered before it is made. Each part of the decision is the function that decides about the call itself; a
 * call that is refused for its body is refused here, too, and what policies refuse is the result.
 */

/** What the policies of a relayer say about a call. */
export interface PolicyCheck {
  /** Empty: it would be accepted. */
  readonly refusals: readonly CallRefusal[];
  /** The rule that decides; null: none does. */
  readonly ruleId: string | null;
  /** What must be approved before it is sent; null: nothing, or it is not allowed. */
  readonly approval: NeededApproval | null;
  /** What the limits have left that it counts against. */
  readonly limits: readonly LimitUsage[];
}

/** The dependencies of the checks. */
export interface PolicyCheckDeps extends SendRefusalDeps, Pick<SpendUsageDeps, 'blockTimes'> {
  readonly store: {
    readonly read: AttemptReads & Pick<SpendingReads, 'allSpendWindows' | 'reservation'> & TransactionReads;
  };
}

/** Says what a send would be answered. Throws 400 for a bad request. */
export async function checkSend(deps: PolicyCheckDeps, relayer: Relayer, wanted: WantedTransaction, asker: Asker): Promise<PolicyCheck> {
  contentToQuote(deps, relayer, wanted.request);
  const { refusals, allowed } = await sendRefusals(deps, relayer, wanted, asker);
  return checkOf(deps, relayer, { refusals, allowed, asker });
}

/** Says what a replacement would be answered, except for what only nodes know. Throws 400 for a bad request, and 404. */
export async function checkReplacement(
  deps: PolicyCheckDeps,
  relayer: Relayer,
  { transactionId, request }: { readonly transactionId: string; readonly request: ContentRequest },
  asker: Asker,
): Promise<PolicyCheck> {
  const { validUntilMs } = contentToQuote(deps, relayer, request);
  const { transaction } = await findWithAttempts(deps.store.read, relayer.id, transactionId);
  const context = { relayer, nowMs: deps.clock.nowMs(), asker };
  let allowed: Allowed | null = null;
  const refusals = await refusalsBy([
    () => requireReplaceable(transaction, context, { validUntilMs, expectedRevision: null }),
    () => {
      allowed = replacingContent(deps.directory.chainOf(relayer), transaction, request, context);
      return requireReplacementRoom(deps, transaction, allowed.spends);
    },
    () => allowed && takeReplacementRoom(deps.lanes, transaction, allowed.approval)(),
  ]);
  return checkOf(deps, relayer, { refusals, allowed, asker });
}

/** Says what a call for a signature over typed data would be answered. */
export async function checkTypedData(
  deps: PolicyCheckDeps & RequireSigningDeps,
  relayer: Relayer,
  data: TypedData,
  asker: Asker,
): Promise<PolicyCheck> {
  let signature: AllowedSignature | null = null;
  const refusals = await refusalsBy([
    () => requireActive(relayer),
    () => {
      signature = allowedSignature(deps, relayer, data, asker);
      return deps.ledger.requireRoom(relayer.id, signature.spends);
    },
  ]);
  const allowed = signature as AllowedSignature | null;
  return checkOf(deps, relayer, { refusals, allowed: allowed && { ...allowed, approval: null }, asker });
}

/**
 * Says what a call for a signature would be answered, except for what only nodes know. `transaction`: the one to sign, in the network's own
 * form; null: something else is signed. Throws 400 for a bad transaction.
 */
export async function checkSignature(
  deps: RequireSigningDeps & { readonly directory: Directory },
  relayer: Relayer,
  { wanted, transaction }: { readonly wanted: WantedSignature; readonly transaction: string | null },
): Promise<PolicyCheck> {
  const { signForeign } = deps.directory.chainOf(relayer);
  if (transaction !== null) signForeign?.check(transaction, unrestricted(relayer, null));
  const refusals = await refusalsBy([
    () => requireActive(relayer),
    () => requireSigning(deps, relayer, wanted),
    () => transaction !== null && signForeign?.check(transaction, relayer),
  ]);
  return { refusals, ruleId: null, approval: null, limits: [] };
}

async function checkOf(
  deps: PolicyCheckDeps,
  relayer: Relayer,
  {
    refusals,
    allowed,
    asker,
  }: {
    readonly refusals: readonly CallRefusal[];
    readonly allowed: Pick<Allowed, 'ruleId' | 'approval' | 'spends'> | null;
    readonly asker: Asker;
  },
): Promise<PolicyCheck> {
  const refusing = refusals.find(({ ruleId }) => ruleId !== null)?.ruleId ?? null;
  const approval = allowed?.approval ?? null;
  const limits = await usageOfSpends(deps, relayer, allowed?.spends ?? [], asker);
  return { refusals, ruleId: refusing ?? approval?.ruleId ?? allowed?.ruleId ?? null, approval, limits };
}
