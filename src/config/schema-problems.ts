import { z } from 'zod';
import { likelyName } from '../json/likely-name.js';
import type { Problem } from './problem.js';

const words: Readonly<Record<string, string>> = {
  string: 'a text in double quotes',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/**
 * The value as the schema reads it, or undefined with every problem put on the list.
 *
 * `path` is where the value is in the file; it begins the path of every problem.
 */
export function readBySchema<S extends z.ZodType>(schema: S, value: unknown, path: string, problems: Problem[]): z.output<S> | undefined {
  const result = schema.safeParse(value, { error: sentence });
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    const at = joinPath(path, issue.path);
    if (issue.code !== 'unrecognized_keys') {
      problems.push({ path: at, problem: issue.message });
      continue;
    }
    for (const key of issue.keys) {
      const likely = likelyName(key, keysAt(schema, issue.path));
      const hint = likely === undefined ? '' : `; did you mean ${likely}?`;
      problems.push({ path: joinPath(at, [key]), problem: `is not a known setting${hint}` });
    }
  }
  return undefined;
}

/** `relayers[2]` and `['policies', 'min_balance']` make `relayers[2].policies.min_balance`. */
export function joinPath(base: string, path: readonly PropertyKey[]): string {
  return path.reduce<string>((joined, part) => {
    if (typeof part === 'number') return `${joined}[${part}]`;
    const name = String(part);
    const written = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    return joined === '' ? written : `${joined}.${written}`;
  }, base);
}

/** What a person reads for problems that no schema has its own sentence for. Never quotes the value. */
function sentence(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined) return 'is required';
  if (issue.code === 'invalid_type') return `must be ${words[issue.expected] ?? issue.expected}`;
  if (issue.code === 'invalid_value') return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
  return undefined;
}

/** The names that the schema knows in the object at this path; none where it cannot tell. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  let current: unknown = schema;
  for (const part of [...path, undefined]) {
    while (current instanceof z.ZodOptional || current instanceof z.ZodNullable) current = current.unwrap();
    if (!(current instanceof z.ZodObject)) return [];
    if (part === undefined) return Object.keys(current.shape);
    current = current.shape[String(part)];
  }
  return [];
}
