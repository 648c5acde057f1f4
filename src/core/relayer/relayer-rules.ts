import { type FieldProblem, throwProblems } from '../errors/errors.js';
import { type NodeUrlRules, nodeUrlProblems } from '../network/node-urls.js';
import type { Relayer, RelayerPolicies } from '../records/relayer.js';
import { partRuleProblems, ruleShapes } from '../rules/part-rule-problems.js';
import { evmRuleProblems } from '../rules/rule-problems.js';
import { signingProblems } from '../rules/signing-rules.js';
import { syntaxes, type TextSyntax, textProblem } from '../text/text-syntax.js';

/** Maximum length of a list in policies. */
const maxItems = 10_000;

/** Parts of a relayer that rules apply to; a part that is absent is not checked. */
type Parts = Partial<Pick<Relayer, 'name' | 'customRpcUrls' | 'policies'>>;

/**
 * Checks parts of a relayer by the rules that the API and the configuration file share. Throws `FIELD_INVALID` with all problems.
 */
export function checkRelayerParts({ name, customRpcUrls, policies }: Parts, rules?: NodeUrlRules): void {
  throwProblems([
    ...(name === undefined ? [] : problemsOf('name', name, syntaxes.name)),
    ...(customRpcUrls === undefined ? [] : nodeUrlProblems('custom_rpc_urls', customRpcUrls, rules)),
    ...(policies === undefined ? [] : policyProblems(policies)),
  ]);
}

/** Returns what is wrong with policies; the ranges of their fields are the contract's. */
function policyProblems(policies: RelayerPolicies): readonly FieldProblem[] {
  const { network, signing } = policies;
  return [...problemsOn(policies), ...(signing === null ? [] : signingProblems('policies.signing', signing, network))];
}

function problemsOn(policies: RelayerPolicies): readonly FieldProblem[] {
  if (policies.network === 'evm') {
    return [
      ...capProblems('gas_price_cap', policies.gasPriceCapWei),
      ...listProblems('whitelist_receivers', policies.whitelistReceivers, syntaxes.evm_address),
      ...(policies.rules === null ? [] : evmRuleProblems('policies.rules', policies.rules)),
    ];
  }
  if (policies.network === 'stellar')
    return [
      ...capProblems('max_fee', policies.maxFeeStroops),
      ...(policies.rules === null ? [] : partRuleProblems('policies.rules', policies.rules, ruleShapes.stellar)),
    ];
  const accounts = (field: string, list: readonly string[] | null) => listProblems(field, list, syntaxes.solana_address);
  const { allowedPrograms, allowedAccounts, disallowedAccounts } = policies;
  const hasBothLists = allowedAccounts !== null && disallowedAccounts.length > 0;
  return [
    ...capProblems('max_allowed_fee_lamports', policies.maxAllowedFeeLamports),
    ...(policies.rules === null ? [] : partRuleProblems('policies.rules', policies.rules, ruleShapes.solana)),
    ...accounts('allowed_programs', allowedPrograms),
    ...accounts('allowed_accounts', allowedAccounts),
    ...(disallowedAccounts.length === 0 ? [] : accounts('disallowed_accounts', disallowedAccounts)),
    ...(hasBothLists ? [{ field: 'policies.disallowed_accounts', description: 'cannot be combined with allowed_accounts' }] : []),
  ];
}

/** A cap of 0 would stop the relayer permanently. */
function capProblems(field: string, cap: bigint | null): readonly FieldProblem[] {
  return cap === 0n ? [{ field: `policies.${field}`, description: 'must be at least 1; leave it out for no cap' }] : [];
}

/** Problems of a list that limits; null: it limits nothing. An empty one can only be a mistake, and must never come to mean "all". */
function listProblems(name: string, list: readonly string[] | null, syntax: TextSyntax): readonly FieldProblem[] {
  const field = `policies.${name}`;
  if (list === null) return [];
  if (list.length === 0) return [{ field, description: 'must not be empty; leave it out to allow all' }];
  if (list.length > maxItems) return [{ field, description: `must have at most ${maxItems} items` }];
  return list.flatMap((item, index) => problemsOf(`${field}[${index}]`, item, syntax));
}

function problemsOf(field: string, text: string, syntax: TextSyntax): readonly FieldProblem[] {
  const description = textProblem(syntax, text);
  return description === undefined ? [] : [{ field, description }];
}
