import { z } from 'zod';
import type { Environment } from './environment.js';
import type { Problem } from './problem.js';

/** A secret of the file: itself (`plain`), or the name of the environment variable that holds it (`env`). */
export const secretReference = z.strictObject({ type: z.enum(['env', 'plain']), value: z.string().min(1, 'must not be empty') });

/** The secret, or undefined with a problem put on the list. `path` is where the reference is in the file. */
export function resolveSecret(
  reference: z.output<typeof secretReference>,
  path: string,
  env: Environment,
  problems: Problem[],
): string | undefined {
  if (reference.type === 'plain') return reference.value;
  const secret = env[reference.value];
  if (secret !== undefined && secret !== '') return secret;
  // Shown only where it can hardly be a secret that was put here by mistake.
  const name = /^[A-Z][A-Z0-9]*_[A-Z0-9_]+$/.test(reference.value) ? ` ${reference.value}` : '';
  problems.push({ path: `${path}.value`, problem: `the environment variable${name} that it names is not set` });
  return undefined;
}
