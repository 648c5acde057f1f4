import { z } from 'zod';
import type { Environment } from './environment.js';
import { id, someText } from './field-schemas.js';
import { declaredNames, type FileEntry, textField } from './file-entries.js';
import type { Problem } from './problem.js';
import { readBySchema } from './schema-problems.js';
import { resolveSecret, secretReference } from './secret-reference.js';

/** A key in an Ethereum keystore file. */
export interface LocalSignerEntry {
  readonly id: string;
  /** The keystore file, relative to the working folder unless absolute. */
  readonly path: string;
  /** Secret. */
  readonly passphrase: string;
}

const signerSchema = z.strictObject({
  id,
  type: z.literal('local'),
  config: z.strictObject({ path: someText, passphrase: secretReference }),
});

/** Reads the signers. `declared`: the ids of all of them, valid or not. Problems go on the list. */
export function signerEntries(
  entries: readonly FileEntry[],
  env: Environment,
  problems: Problem[],
): { readonly signers: readonly LocalSignerEntry[]; readonly declared: ReadonlySet<string> } {
  const declared = declaredNames(entries, 'id', problems);
  const signers = entries.flatMap((entry) => {
    const signer = signerFromEntry(entry, env, problems);
    return signer === undefined ? [] : [signer];
  });
  return { signers, declared };
}

function signerFromEntry(entry: FileEntry, env: Environment, problems: Problem[]): LocalSignerEntry | undefined {
  const type = textField(entry, 'type');
  if (type !== undefined && type !== 'local') {
    problems.push({ path: `${entry.path}.type`, problem: `signers of type ${JSON.stringify(type)} are not supported yet; use "local"` });
    return undefined;
  }
  const fields = readBySchema(signerSchema, entry.value, entry.path, problems);
  if (fields === undefined) return undefined;
  const passphrase = resolveSecret(fields.config.passphrase, `${entry.path}.config.passphrase`, env, problems);
  return passphrase === undefined ? undefined : { id: fields.id, path: fields.config.path, passphrase };
}
