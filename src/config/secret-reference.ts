import { z } from 'zod';
import type { Environment } from './environment.js';
import type { Problem } from './problem.js';

/** A value of the file: itself (`plain`), or the name of the environment variable that holds it (`env`). */
export const secretReference = z.strictObject({ type: z.enum(['env', 'plain']), value: z.string().min(1, 'must not be empty') });

/** The value, or what is wrong with the reference's `value`. */
export function resolved(
  reference: z.output<typeof secretReference>,
  env: Environment,
): { readonly text: string } | { readonly problem: string } {
  if (reference.type === 'plain') return { text: reference.value };
  const text = env[reference.value];
  if (text !== undefined && text !== '') return { text };
  // Shown only where it can hardly be a secret that was put here by mistake.
  const name = /^[A-Z][A-Z0-9]*_[A-Z0-9_]+$/.test(reference.value) ? ` ${reference.value}` : '';
  return { problem: `the environment variable${name} that it names is not set` };
}

/** The secret, or undefined with a problem put on the list. `path` is where the reference is in the file. */
export function resolveSecret(
  reference: z.output<typeof secretReference>,
  path: string,
  env: Environment,
  problems: Problem[],
): string | undefined {
  const found = resolved(reference, env);
  if ('text' in found) return found.text;
  problems.push({ path: `${path}.value`, problem: found.problem });
  return undefined;
}
