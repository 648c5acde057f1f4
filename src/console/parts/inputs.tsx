import type { ComponentChildren } from 'preact';
import { incompleteTime } from '../model/local-time.js';
import { Button } from './button.js';
import { Field } from './field.js';

/** What all inputs of a form have. */
interface InputProperties {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly problem?: string | undefined;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

/** A field for one line of text. */
export function TextInput({
  type = 'text',
  placeholder,
  required,
  inputMode,
  mono = false,
  ...field
}: InputProperties & {
  readonly type?: 'text' | 'password';
  readonly placeholder?: string;
  readonly required?: boolean;
  readonly inputMode?: 'decimal' | 'numeric';
  /** For ids, addresses and hashes. */
  readonly mono?: boolean;
}) {
  return (
    <Field label={field.label} hint={field.hint} problem={field.problem}>
      {(attributes) => (
        <input
          {...attributes}
          // Preact types the attributes of each type apart; these have the same ones.
          type={type as 'text'}
          class={mono ? 'mono' : undefined}
          value={field.value}
          placeholder={placeholder}
          required={required}
          inputMode={inputMode}
          autoComplete="off"
          autoCapitalize="off"
          spellcheck={false}
          onInput={(event) => field.onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A field for a date and a time in the time zone of the browser. Its value is `incompleteTime` while only a part of it is typed. */
export function TimeInput(field: InputProperties) {
  const report = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => {
    const value = currentTarget.validity.badInput ? incompleteTime : currentTarget.value;
    if (value !== field.value) field.onValue(value);
  };
  return (
    <Field label={`${field.label} (your local time)`} hint={field.hint} problem={field.problem}>
      {(attributes) => (
        <input
          {...attributes}
          type="datetime-local"
          // Setting any other value would empty what is typed in part.
          value={field.value === incompleteTime ? '' : field.value}
          onInput={report}
          onKeyUp={report}
          onBlur={report}
        />
      )}
    </Field>
  );
}

/** A field for several lines of text. */
export function TextArea({ rows = 4, placeholder, ...field }: InputProperties & { readonly rows?: number; readonly placeholder?: string }) {
  return (
    <Field label={field.label} hint={field.hint} problem={field.problem}>
      {(attributes) => (
        <textarea
          {...attributes}
          rows={rows}
          value={field.value}
          placeholder={placeholder}
          autoComplete="off"
          autoCapitalize="off"
          spellcheck={false}
          onInput={(event) => field.onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A field with a list of choices: values and their texts. */
export function Select({ choices, ...field }: InputProperties & { readonly choices: readonly (readonly [value: string, text: string])[] }) {
  return (
    <Field label={field.label} hint={field.hint} problem={field.problem}>
      {(attributes) => (
        <select {...attributes} value={field.value} onChange={(event) => field.onValue(event.currentTarget.value)}>
          {choices.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** A choice that is on or off. */
export function Check({
  label,
  checked,
  onChecked,
}: {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly onChecked: (checked: boolean) => void;
}) {
  return (
    <label class="choice">
      <input type="checkbox" checked={checked} onChange={(event) => onChecked(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}

/** One of a few choices, side by side. */
export function Segments<Value extends string>({
  label,
  choices,
  value,
  onValue,
}: {
  /** What is chosen; only screen readers say it. */
  readonly label: string;
  /** The texts of the choices, in their order. */
  readonly choices: Readonly<Partial<Record<Value, string>>>;
  readonly value: Value;
  readonly onValue: (value: Value) => void;
}) {
  return (
    <fieldset class="segments">
      <legend class="visually-hidden">{label}</legend>
      {(Object.entries(choices) as [Value, string][]).map(([choice, text]) => (
        <Button key={choice} aria-pressed={choice === value} onClick={() => onValue(choice)} text={text} />
      ))}
    </fieldset>
  );
}
