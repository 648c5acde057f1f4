import { create } from '@bufbuild/protobuf';
import { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import { EvmPoliciesSchema } from '../../../gen/relayer/v1/evm_pb.js';
import type { Relayer } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { SolanaPoliciesSchema } from '../../../gen/relayer/v1/solana_pb.js';
import { StellarPoliciesSchema } from '../../../gen/relayer/v1/stellar_pb.js';
import { formatUnits, parseUnits, type Unit } from '../text/amounts.js';
import { wordsOf } from '../text/words.js';

/** The policies of a relayer, in the shape of its network. */
export type Policies = Relayer['policies'];

/** A policy, and how a form shows it. */
export interface PolicyField {
  /** Its name in messages of TypeScript. */
  readonly name: string;
  /** Its name in the API. */
  readonly path: string;
  readonly label: string;
  readonly hint: string;
  /** `coin`: an amount of the native coin; `gas`: a price per gas; `count`: an integer; `flag`: on, off or the default; `list`: addresses. */
  readonly kind: 'coin' | 'gas' | 'count' | 'flag' | 'list';
}

const field = (kind: PolicyField['kind'], path: string, label: string, hint: string): PolicyField => ({
  kind,
  path,
  label,
  hint,
  name: path.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
});

const minBalance = field('coin', 'min_balance', 'Minimum balance', 'Transactions wait while less would remain. Empty: the default.');

const evmFields = [
  minBalance,
  field('gas', 'gas_price_cap', 'Gas price cap', 'The highest price per gas. Empty: no maximum.'),
  field('count', 'max_in_flight', 'Transactions in flight', 'At most this many, 1 to 100000. Empty: automatic.'),
  field('list', 'whitelist_receivers', 'Allowed receivers', 'Addresses, separated by spaces or lines. Empty: all.'),
  field('flag', 'eip1559_pricing', 'EIP-1559 pricing', 'The default is on.'),
  field('flag', 'gas_limit_estimation', 'Estimate gas limits', 'Off: callers must set the gas limit. The default is on.'),
  field('flag', 'include_revert_data', 'Revert data in reasons', 'The default is off.'),
];

const stellarFields = [
  minBalance,
  field('coin', 'max_fee', 'Highest max fee', 'The highest max_fee that a transaction may set. Empty: no maximum.'),
];

const solanaFields = [
  minBalance,
  field('coin', 'max_allowed_fee_lamports', 'Highest fee', 'Of one transaction, with the priority fee. Empty: no maximum.'),
  field('count', 'max_signatures', 'Signatures', 'At most this many, 1 to 255. Empty: no maximum.'),
  field('count', 'max_tx_data_size', 'Size in bytes', 'At most this many, 1 to 1232. Empty: 1232.'),
  field('list', 'allowed_programs', 'Allowed programs', 'Separated by spaces or lines. Empty: all.'),
  field('list', 'allowed_accounts', 'Allowed accounts', 'Separated by spaces or lines. Empty: all.'),
  field('list', 'disallowed_accounts', 'Disallowed accounts', 'Separated by spaces or lines.'),
];

const gwei: Unit = { name: 'gwei', decimals: 9 };

/** The policies of a type of network, with their form. */
export function policyFields(networkType: NetworkType): readonly PolicyField[] {
  if (networkType === NetworkType.STELLAR) return stellarFields;
  return networkType === NetworkType.SOLANA ? solanaFields : evmFields;
}

/** The unit of a policy that is an amount. */
export function unitOf({ kind }: PolicyField, coin: Unit): Unit {
  return kind === 'gas' ? gwei : coin;
}

/** Policies as a form holds them: a text for each, by its name. Empty: it is not set. */
export type PolicyDraft = Readonly<Record<string, string>>;

/** Returns the form of the policies of a relayer. */
export function draftOf(policies: Policies, fields: readonly PolicyField[], coin: Unit): PolicyDraft {
  const values = (policies.value ?? {}) as unknown as Readonly<Record<string, unknown>>;
  return Object.fromEntries(fields.map((one) => [one.name, textOf(one, values[one.name], coin)]));
}

function textOf(one: PolicyField, value: unknown, coin: Unit): string {
  if (value === undefined) return '';
  if (one.kind === 'list') return (value as readonly string[]).join('\n');
  return one.kind === 'coin' || one.kind === 'gas' ? formatUnits(BigInt(value as string), unitOf(one, coin).decimals) : String(value);
}

/** Policies to send, or what is wrong with a form, by the names of its fields. */
export type BuiltPolicies = { readonly policies: Policies } | { readonly problems: Readonly<Record<string, string>> };

/** Reads the policies of a form. */
export function buildPolicies(networkType: NetworkType, draft: PolicyDraft, coin: Unit): BuiltPolicies {
  const problems: Record<string, string> = {};
  const values: Record<string, unknown> = {};
  for (const one of policyFields(networkType)) {
    const text = draft[one.name]?.trim() ?? '';
    if (text === '') continue;
    if (one.kind === 'list') values[one.name] = wordsOf(text);
    else if (one.kind === 'flag') values[one.name] = text === 'true';
    else if (one.kind === 'count') {
      if (/^\d{1,9}$/.test(text)) values[one.name] = Number(text);
      else problems[one.name] = 'must be an integer';
    } else {
      const parsed = parseUnits(text, unitOf(one, coin));
      if ('amount' in parsed) values[one.name] = parsed.amount.toString();
      else problems[one.name] = parsed.problem;
    }
  }
  if (Object.keys(problems).length > 0) return { problems };
  if (networkType === NetworkType.STELLAR) return { policies: { case: 'stellar', value: create(StellarPoliciesSchema, values) } };
  if (networkType === NetworkType.SOLANA) return { policies: { case: 'solana', value: create(SolanaPoliciesSchema, values) } };
  return { policies: { case: 'evm', value: create(EvmPoliciesSchema, values) } };
}

/** The paths of the policies whose text has changed, such as `evm.gas_price_cap`: only these are sent, so that a change by another operator stays. */
export function changedPolicies(networkType: NetworkType, before: PolicyDraft, after: PolicyDraft): string[] {
  return policyFields(networkType)
    .filter(({ name }) => (before[name] ?? '').trim() !== (after[name] ?? '').trim())
    .map(({ path }) => `${caseOf(networkType)}.${path}`);
}

/** The paths of the service's field errors, by the names of the form's fields. */
export function policyPaths(networkType: NetworkType): Readonly<Record<string, string>> {
  return Object.fromEntries(policyFields(networkType).map(({ name, path }) => [name, `${caseOf(networkType)}.${path}`]));
}

function caseOf(networkType: NetworkType): 'evm' | 'stellar' | 'solana' {
  if (networkType === NetworkType.STELLAR) return 'stellar';
  return networkType === NetworkType.SOLANA ? 'solana' : 'evm';
}
