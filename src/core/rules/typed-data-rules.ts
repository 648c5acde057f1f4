import type { TypedData } from '../ports/chain/requests.js';
import type { Directory } from '../ports/directory.js';
import type { Allowance, Asker } from '../records/judgement.js';
import type { Relayer } from '../records/relayer.js';
import { deniedBy } from './denied.js';
import { type RequireSigningDeps, requireSigning } from './signing-rules.js';

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
 * so a rule can let it be signed within its limits; what no rule is for is left to the policy `signing`. Throws `forbidden` POLICY_DENIED.
 */
export function allowedSignature(deps: AllowedSignatureDeps, relayer: Relayer, data: TypedData, asker: Asker): AllowedSignature {
  const judgement = deps.directory.chainOf(relayer).judgeTypedData?.(data, relayer, asker) ?? null;
  if (judgement?.verdict === 'allow') return judgement;
  if (judgement !== null) throw deniedBy(relayer, judgement);
  requireSigning(deps, relayer, { kind: 'typed data', domainSeparator: data.domainSeparator });
  return { ruleId: null, spends: [] };
}
