import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** The attributes that connect an input with its label, hint and problem. */
export interface FieldAttributes {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean | undefined;
}

/** An input with its label, a hint and what is wrong with it. `children` gets the attributes to put on the input. */
export function Field({
  label,
  hint,
  problem,
  children,
}: {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly problem?: string | undefined;
  readonly children: (attributes: FieldAttributes) => ComponentChildren;
}) {
  const id = useId();
  const hintId = `${id}-hint`;
  const problemId = `${id}-problem`;
  const described = [...(problem === undefined ? [] : [problemId]), ...(hint === undefined ? [] : [hintId])].join(' ');
  return (
    <div class="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': described || undefined, 'aria-invalid': problem === undefined ? undefined : true })}
      {problem !== undefined && (
        <p id={problemId} class="problem">
          {problem}
        </p>
      )}
      {hint !== undefined && (
        <p id={hintId} class="hint">
          {hint}
        </p>
      )}
    </div>
  );
}
