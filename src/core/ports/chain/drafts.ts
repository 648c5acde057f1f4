import type { ErrorMetadata } from '../../errors/errors.js';
import type { EvmDraft } from '../../records/evm.js';
import type { Judgement } from '../../records/judgement.js';
import type { Relayer } from '../../records/relayer.js';
import type { SolanaDraft } from '../../records/solana.js';
import type { StellarDraft } from '../../records/stellar.js';
import type { Attempt, Content, FailureReason } from '../../records/transaction.js';

/** An attempt that is priced and checked for funds, but not signed; in the shape of its network. */
export type Draft = EvmDraft | StellarDraft | SolanaDraft;

/**
 * Why an attempt cannot be made now. `lasting`: a retry will not help. `outdated`: what others signed can no longer be mined.
 * `above_max_cost`: it may cost more than `ruleId` allows.
 * `not_allowed`: the relayer's policies, the account's thresholds or the receiver forbid it. `unusable`: see `Chain.whyUnusable`.
 * `rejected`: every node that answered says no, in words that are not in our tables.
 */
export interface Refusal {
  readonly refused:
    | 'reverts'
    | 'insufficient_funds'
    | 'above_cap'
    | 'above_max_cost'
    | 'underpriced'
    | 'gas_limit'
    | 'bump_limit'
    | 'outdated'
    | 'not_allowed'
    | 'unusable'
    | 'rejected';
  /** A sentence for the caller and for `status_reason`. */
  readonly sentence: string;
  readonly lasting: boolean;
  /**
   * One node says so and no other one answered: it lasts only if later answers are the same. `briefly`: after seconds, since callers wait
   * for the verdict about a call of a contract, and no other block may come.
   */
  readonly isDoubted?: boolean | 'briefly';
  /** A transaction that ends a lasting refusal once it is mined; absent: none does. */
  readonly first?: Prerequisite;
  /** The rule of the relayer that refuses it; absent: none does. */
  readonly ruleId?: string;
  /** The values that the sentence names. */
  readonly metadata?: ErrorMetadata<'INSUFFICIENT_FUNDS' | 'GAS_PRICE_CAP_EXCEEDED' | 'REPLACEMENT_UNDERPRICED' | 'FIELD_INVALID'>;
}

/** A transaction of the service's own that must be mined before another one. */
export interface Prerequisite {
  readonly content: Content;
  /** What it does, to follow "transaction X". */
  readonly does: string;
  /** The transaction that was sent for that before; null: none was. */
  readonly sent: string | null;
  /** Returns the content that needs it, once the transaction with this id is sent for that. */
  neededBy(id: string): Content;
}

/** True if the chain refused to make an attempt. */
export function isRefusal(outcome: object): outcome is Refusal {
  return 'refused' in outcome;
}

/** Returns the refusal of what the relayer's policies forbid; null, as `sentence`: they allow it. */
export function forbiddenBecause(sentence: string | null): Refusal | null {
  return sentence === null ? null : { refused: 'not_allowed', sentence, lasting: true };
}

/**
 * Returns the refusal of what the relayer's rules forbid now; null: they allow it. Rules may ask for more approvals now than its content
 * needed when it was accepted (0: none), which is too late then.
 */
export function forbiddenByRules(judgement: Judgement | null, approvals: number): Refusal | null {
  if (judgement?.verdict === 'deny') return forbiddenBecause(`${judgement.field} ${judgement.description}`);
  const approval = judgement?.approval ?? null;
  if (approval === null || approval.required <= approvals) return null;
  const { ruleId, required } = approval;
  return forbiddenBecause(
    approvals === 0
      ? `the rule ${ruleId} asks for approvals now, without which it was accepted; send it again`
      : `the rule ${ruleId} asks for ${required} approvals now, and it has ${approvals}; send it again`,
  );
}

/** The failure reason for each lasting refusal of the chain. */
export const failureOf: Readonly<Record<Refusal['refused'], FailureReason>> = {
  reverts: 'would_revert',
  insufficient_funds: 'insufficient_funds',
  above_cap: 'fee_limit',
  above_max_cost: 'fee_limit',
  underpriced: 'fee_limit',
  bump_limit: 'fee_limit',
  gas_limit: 'gas_limit',
  outdated: 'outdated',
  not_allowed: 'not_allowed',
  unusable: 'never_accepted',
  rejected: 'never_accepted',
};

/** A request for an attempt. */
export interface DraftRequest {
  readonly relayer: Relayer;
  /** `filler` takes the slot and does nothing; it may exceed a price cap up to the nodes' replacement minimum. */
  readonly content: Content | 'filler';
  /** Of a filler: the content of the transaction whose slot it takes, which may bound what that costs. Absent: there is none. */
  readonly insteadOf?: Content;
  /** The attempts that this one must outbid; empty for a first attempt, and if the earlier ones are dead. */
  readonly outbids: readonly Attempt[];
  /** The self-transfers in its slot that no node took: they need not be outbid, but may have had too little gas. */
  readonly untaken?: readonly Attempt[] | undefined;
  /** The transaction's `valid_until`, for networks on which an attempt can carry it. */
  readonly validUntilMs: number | null;
  /** How many approvals the content has, if that is as many as it needed. Absent: none. */
  readonly approvals?: number;
  /** True if an attempt with this content has expired: its bid may have been too low. */
  readonly hasWaited?: boolean;
  /**
   * The nonce that the transaction would get next; absent if it has one, or takes none. If the chain's own count is past it, the chain
   * refuses for now: an attempt signed with it could never be mined.
   */
  readonly nextNonce?: bigint;
}

/**
 * Why an attempt gets another price. `waited`: blocks leave it out. `demanded`: a node rejected it because of its bid, so more than the
 * market price may be needed. `too_expensive`: nodes accept none that may cost so much, so its price is lowered to the minimum that the
 * next block takes.
 */
export type BumpReason = 'waited' | 'demanded' | 'too_expensive';

/** A request for a fee bump. */
export interface FeeBumpRequest {
  readonly relayer: Relayer;
  /** The transaction's content, with the caller's price. */
  readonly content: Content;
  /** The newest attempt; the fee bump has the same content. */
  readonly live: Attempt;
  /** All attempts in the slot: each must be outbid, since a node may hold any of them. */
  readonly outbids: readonly Attempt[];
  readonly reason: BumpReason;
  /** See `DraftRequest`. */
  readonly approvals?: number;
}
