import type { DescField } from '@bufbuild/protobuf';
import { formatUnits, type Unit } from '../text/amounts.js';
import { helpOf } from '../text/help.js';
import { capitalized } from '../text/words.js';

/** A form: what was typed, and what is wrong with it, by the names of the fields in messages of TypeScript. */
export interface FormState<Draft> {
  readonly draft: Draft;
  readonly problems: Readonly<Record<string, string>>;
  readonly onDraft: (change: Partial<Draft>) => void;
}

/** An amount as it was typed. */
export interface TypedAmount {
  readonly text: string;
  readonly unit: Unit;
}

/** Returns the input that shows an amount of the smallest unit, exact. */
export function amountInput(amount: bigint, unit: Unit): TypedAmount {
  return { text: formatUnits(amount, unit.decimals), unit };
}

/** The words of names that a label writes otherwise. The unit of an amount is not part of its label. */
const labelWords: Readonly<Record<string, string>> = {
  min: 'minimum',
  max: 'maximum',
  tx: 'transaction',
  eip1559: 'EIP-1559',
  lamports: '',
  url: 'URL',
};

/** Returns the label of a field: its name in words. */
export function labelOf({ name }: DescField): string {
  const words = name.split('_').map((word) => labelWords[word] ?? word);
  return capitalized(words.filter((word) => word !== '').join(' '));
}

/** A form whose fields are only known by their names. */
type AnyForm = Omit<FormState<object>, 'onDraft'> & { readonly onDraft: (change: never) => void };

/** Returns what the input of a field shows and does: its label and help come from its definition, its value and problem from the form. */
export function inputOf<Value = string>({ draft, problems, onDraft }: AnyForm, desc: DescField, label = labelOf(desc)) {
  const name = desc.localName;
  return {
    label,
    hint: helpOf(desc),
    value: (draft as Readonly<Record<string, Value>>)[name] as Value,
    problem: problems[name],
    onValue: (value: Value) => (onDraft as (change: object) => void)({ [name]: value }),
  };
}

/** Returns the paths of the service's field errors, by the names of a form's fields. */
export function pathsOf(fields: readonly DescField[], prefix = ''): Readonly<Record<string, string>> {
  return Object.fromEntries(fields.map(({ localName, name }) => [localName, prefix + name]));
}

/** Returns the problems of a part of a form, such as those of `payments.0.`, by the names of the part's fields. */
export function problemsOf(prefix: string, problems: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const own = Object.entries(problems).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(own.map(([name, problem]) => [name.slice(prefix.length), problem]));
}
