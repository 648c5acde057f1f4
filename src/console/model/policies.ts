import { create, type DescField, type DescMessage, getOption, ScalarType } from '@bufbuild/protobuf';
import { text as textOption } from '../../../gen/relayer/rest/v1/options_pb.js';
import type { NetworkType } from '../../../gen/relayer/v1/common_pb.js';
import type { Relayer } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { formatUnits, parseUnits, type Unit } from '../text/amounts.js';
import { helpOf } from '../text/help.js';
import { wordsOf } from '../text/words.js';
import { labelOf } from './form.js';
import { kindOf as networkKind, networkTypes } from './networks.js';

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
  /**
   * `coin`: an amount of the native coin; `gas`: a price per gas; `count`: an integer; `flag`: true, false or the default; `list`:
   * addresses, or names.
   */
  readonly kind: 'coin' | 'gas' | 'count' | 'flag' | 'list';
  /** The numbers of the names that a list may hold; empty: it holds addresses. */
  readonly numbers: ReadonlyMap<string, number>;
}

function fieldOf(desc: DescField): PolicyField {
  const numbers = new Map(desc.enum?.values.slice(1).map((value) => [getOption(value, textOption), value.number]));
  const hint = numbers.size === 0 ? helpOf(desc) : `${helpOf(desc)} ${choiceOf(numbers)}`;
  return { kind: kindOf(desc), path: desc.name, name: desc.localName, label: labelOf(desc), hint, numbers };
}

function choiceOf(numbers: PolicyField['numbers']): string {
  return `Names: ${[...numbers.keys()].join(', ')}.`;
}

function kindOf({ fieldKind, scalar, name }: DescField): PolicyField['kind'] {
  if (fieldKind === 'list') return 'list';
  if (scalar === ScalarType.BOOL) return 'flag';
  // A policy that is a text is an amount.
  if (scalar !== ScalarType.STRING) return 'count';
  return name.startsWith('gas_price') ? 'gas' : 'coin';
}

/** The policies of a message. No form has who pays the fees, which has one value only, nor rules and signing, which are set as JSON. */
const fieldsOf = ({ fields }: DescMessage) =>
  fields.filter(({ fieldKind, message }) => fieldKind !== 'enum' && message === undefined).map(fieldOf);
const fieldsByType = new Map(networkTypes.map((type) => [type as NetworkType, fieldsOf(networkKind(type).policies)]));

const gwei: Unit = { name: 'gwei', decimals: 9 };

/** The policies of a type of network, with their form. */
export function policyFields(networkType: NetworkType): readonly PolicyField[] {
  return fieldsByType.get(networkType) ?? [];
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
  if (one.numbers.size > 0)
    return [...one.numbers].flatMap(([name, number]) => ((value as number[]).includes(number) ? [name] : [])).join('\n');
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
    if (one.numbers.size > 0) {
      const numbers = wordsOf(text).map((name) => one.numbers.get(name));
      if (numbers.includes(undefined)) problems[one.name] = choiceOf(one.numbers);
      else values[one.name] = numbers;
    } else if (one.kind === 'list') values[one.name] = wordsOf(text);
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
  const { name, policies } = networkKind(networkType);
  return { policies: { case: name, value: create(policies, values) } as Policies };
}

/**
 * The paths of the policies whose text has changed, such as `evm.gas_price_cap`: only these are sent, so that a change by another operator
 * stays.
 */
export function changedPolicies(networkType: NetworkType, before: PolicyDraft, after: PolicyDraft): string[] {
  return policyFields(networkType)
    .filter(({ name }) => (before[name] ?? '').trim() !== (after[name] ?? '').trim())
    .map(({ path }) => `${networkKind(networkType).name}.${path}`);
}

/** The paths of the service's field errors, by the names of the form's fields. */
export function policyPaths(networkType: NetworkType): Readonly<Record<string, string>> {
  return Object.fromEntries(policyFields(networkType).map(({ name, path }) => [name, `${networkKind(networkType).name}.${path}`]));
}
