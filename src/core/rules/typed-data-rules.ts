import type { TypedData } from '../ports/chain/requests.js';
import { type DatabaseState, requireNoHold, SigningHeldError } from '../ports/database-state.js';
import type { Directory } from '../ports/directory.js';
import { isConflict } from '../ports/store/change.js';
import type { SpendingChanges } from '../ports/store/spending.js';
import type { StoreFor } from '../ports/store/store.js';
import type { Allowance, Asker } from '../records/judgement.js';
import type { Relayer } from '../records/relayer.js';
import { deniedBy } from './denied.js';
import { type RequireSigningDeps, requireSigning } from './signing-rules.js';
import type { SpendLedger } from './spend-ledger.js';

/** What rules say about typed data that is signed. */
export interface AllowedSignature extends Pick<Allowance, 'spends'> {
  /** Null: no rule is for it, but the policy `signing` allows it. */
  readonly ruleId: string | null;
}

/** The dependencies of `allowedSignature`. */
export interface AllowedSignatureDeps extends RequireSigningDeps {
  readonly directory: Pick<Directory, 'relayers' | 'chainOf'>;
}

/**
 * Returns what a signature over typed data counts against the limits of the relayer's rules. A permit moves tokens without a transaction,
 * so a rule can let it be signed within its limits; what no rule is for is left to the policy `signing`. What a rule of any relayer of the
 * account denies is not signed. Throws `forbidden` POLICY_DENIED.
 */
export function allowedSignature(deps: AllowedSignatureDeps, relayer: Relayer, data: TypedData, asker: Asker): AllowedSignature {
  const { directory } = deps;
  const judged = (by: Relayer) => directory.chainOf(by).judgeTypedData?.(data, by, asker) ?? null;
  // Data may name any chain, so a relayer of the account on another network would sign what this one denies.
  for (const one of directory.relayers().filter(({ address }) => address === relayer.address)) {
    const judgement = judged(one);
    if (judgement?.verdict === 'deny') throw deniedBy(one, judgement);
  }
  const judgement = judged(relayer);
  if (judgement?.verdict === 'allow') return judgement;
  requireSigning(deps, relayer, { kind: 'typed data', domainSeparator: data.domainSeparator });
  return { ruleId: null, spends: [] };
}

/** The dependencies of `reserveSignature`. */
export interface ReserveSignatureDeps {
  readonly ledger: Pick<SpendLedger, 'withReserved'>;
  readonly store: StoreFor<unknown, Pick<SpendingChanges, 'requireSigningAllowed'>>;
  readonly database: Pick<DatabaseState, 'ownHold'>;
}

/**
 * Stores what a signature counts against limits, before it is made: a caller who has it can use it at once. Throws `forbidden` as the
 * ledger does, and SigningHeldError during a hold, also if that begins meanwhile or is known to the database alone: the windows may lack
 * what was signed before.
 */
export async function reserveSignature(
  { ledger, store, database }: ReserveSignatureDeps,
  relayerId: string,
  { spends }: AllowedSignature,
): Promise<void> {
  const [first] = spends;
  if (first === undefined) return;
  requireNoHold(database);
  const allowed = store.change.requireSigningAllowed(relayerId, first.window);
  try {
    await ledger.withReserved(relayerId, [spends], ({ changes }) => store.commit([...changes, allowed]));
  } catch (error) {
    // This instance has not seen it yet.
    if (isConflict(error) && error.change === allowed.name) throw new SigningHeldError('the database may lack what was signed before');
    throw error;
  }
  requireNoHold(database);
}
