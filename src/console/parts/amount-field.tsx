import { useState } from 'preact/hooks';
import { amountInput, type TypedAmount } from '../model/form.js';
import { groupDigits, parseUnits, type Unit } from '../text/amounts.js';
import { Field } from './field.js';

/** An amount in a unit that the operator chooses. It shows what it is in the smallest unit, because a wrong factor of 10^9 costs money. */
export function AmountField({
  label,
  units,
  value,
  onValue,
  hint,
  problem,
  optional = false,
}: {
  readonly label: string;
  /** Smallest first. */
  readonly units: readonly Unit[];
  readonly value: TypedAmount;
  readonly onValue: (value: TypedAmount) => void;
  readonly hint?: string;
  /** A problem that the service named. */
  readonly problem?: string | undefined;
  /** True: the field may stay empty. */
  readonly optional?: boolean;
}) {
  // An empty field that was not left yet has no problem.
  const [isTouched, setTouched] = useState(false);
  const parsed = parseUnits(value.text, value.unit);
  const smallest = units[0];
  const own = 'problem' in parsed && (value.text === '' ? isTouched && !optional : true) ? parsed.problem : undefined;
  const exact =
    'amount' in parsed && smallest !== undefined && value.unit.decimals > 0
      ? `= ${groupDigits(parsed.amount)} ${smallest.name}`
      : undefined;
  return (
    <Field label={label} problem={own ?? problem} hint={[exact, hint].filter((text) => text !== undefined).join(' · ') || undefined}>
      {(attributes) => (
        <span class="with-unit">
          <input
            {...attributes}
            value={value.text}
            inputMode="decimal"
            autoComplete="off"
            spellcheck={false}
            onInput={(event) => onValue({ ...value, text: event.currentTarget.value })}
            onBlur={() => setTouched(true)}
          />
          <select
            aria-label={`Unit of ${label}`}
            value={value.unit.name}
            onChange={(event) => {
              const unit = units.find(({ name }) => name === event.currentTarget.value) ?? value.unit;
              // The amount stays the same; only the way to write it changes.
              onValue('amount' in parsed ? amountInput(parsed.amount, unit) : { ...value, unit });
            }}
          >
            {units.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </span>
      )}
    </Field>
  );
}
