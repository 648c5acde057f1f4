import type { Failure } from './failure.js';

/** The problems of a form's fields, and the rest of the failure. */
export interface FieldProblems {
  /** The problem of each field that has one, by the name that the form gave it. */
  readonly at: Readonly<Record<string, string>>;
  /** The failure, if something is left that stands at no field. */
  readonly rest: Failure | undefined;
}

/**
 * Divides a failure among the fields of a form. A violation belongs to the field whose path is the longest that it begins with, so that the
 * field of a list also gets the violations of its items.
 * @param paths the path of each field of the form, such as `evm.value`, by the name that the form gives it
 */
export function fieldProblems(failure: Failure | undefined, paths: Readonly<Record<string, string>>): FieldProblems {
  if (failure === undefined || failure.fields.length === 0) return { at: {}, rest: failure };
  const at: Record<string, string> = {};
  const others: { field: string; description: string }[] = [];
  for (const violation of failure.fields) {
    const [owner] = Object.entries(paths)
      .filter(([, path]) => beginsWith(violation.field, path))
      .sort(([, a], [, b]) => b.length - a.length);
    if (owner === undefined) {
      others.push(violation);
      continue;
    }
    const [name, path] = owner;
    // A problem within a list names its item.
    const text =
      violation.field === path
        ? violation.description
        : `${violation.field.slice(path.length).replace(/^\./, '')} ${violation.description}`;
    at[name] = at[name] === undefined ? text : `${at[name]}; ${text}`;
  }
  if (others.length === 0) return { at, rest: { ...failure, sentence: 'correct the marked fields', fields: [] } };
  return { at, rest: { ...failure, sentence: others.map(({ field, description }) => `${field} ${description}`).join('; '), fields: [] } };
}

function beginsWith(field: string, path: string): boolean {
  return field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`);
}
