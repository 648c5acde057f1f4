import type { NetworkType } from '../core/records/network.js';
import type { JsonObject, JsonValue } from '../json/json-value.js';
import type { Problems } from './problem.js';

/** A policy of OpenZeppelin Relayer that the API does not have. The file may contain it if its value requests nothing. */
type ForeignPolicy = { readonly asksForNothing: (value: JsonValue) => boolean } & (
  | { readonly problem: string }
  /** For a value that may be ignored. */
  | { readonly notice: string }
);

/** A setting of fees that users pay in tokens. */
const userPaid: ForeignPolicy = {
  asksForNothing: (value) => value === null || (Array.isArray(value) && value.length === 0) || (value instanceof Map && value.size === 0),
  problem: 'applies to fees that users pay in tokens, which are not supported; leave it out',
};

const foreignPolicies: Readonly<Record<NetworkType, Readonly<Record<string, ForeignPolicy>>>> = {
  evm: {},
  stellar: {
    timeout_seconds: {
      asksForNothing: (value) => value === null,
      problem: 'is not supported; set valid_until of each transaction instead',
    },
    concurrent_transactions: {
      asksForNothing: (value) => value === null || value === false,
      notice:
        "has no effect: the relayer's own transactions are sent one after another, and signed transactions of other accounts rarely wait for them",
    },
    allowed_tokens: userPaid,
    slippage_percentage: userPaid,
    fee_margin_percentage: userPaid,
    swap_config: userPaid,
  },
  solana: { allowed_tokens: userPaid, fee_margin_percentage: userPaid, swap_config: userPaid },
};

/** Returns a relayer's policies as the API takes them. Reports policies of OpenZeppelin Relayer that request something unsupported. */
export function apiPolicies(type: NetworkType, policies: JsonObject, path: string, problems: Problems): JsonObject {
  const result: JsonObject = new Map(policies);
  for (const [name, policy] of Object.entries(foreignPolicies[type])) {
    result.delete(name);
    if (policy.asksForNothing(policies.get(name) ?? null)) continue;
    if ('problem' in policy) problems.add(`${path}.${name}`, policy.problem);
    else problems.notices.push(`${path}.${name} ${policy.notice}`);
  }
  checkStrategy(type, policies.get('fee_payment_strategy') ?? null, `${path}.fee_payment_strategy`, problems);
  if (problems.has(`${path}.fee_payment_strategy`)) result.delete('fee_payment_strategy');
  return result;
}

/** On Solana the default of OpenZeppelin Relayer is that users pay, so the file must set the strategy. */
function checkStrategy(type: NetworkType, strategy: JsonValue, path: string, problems: Problems): void {
  if (strategy === 'user') problems.add(path, 'must be "relayer": fees that users pay in tokens are not supported');
  else if (strategy === null && type === 'solana')
    problems.add(path, 'must be set to "relayer": the default of OpenZeppelin Relayer, "user", is not supported');
}
