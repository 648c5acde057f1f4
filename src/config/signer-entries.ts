import { z } from 'zod';
import type { Curve } from '../core/ports/signer.js';
import type { Environment } from './environment.js';
import { id, someText } from './field-schemas.js';
import { declaredNames, type FileEntry, textField } from './file-entries.js';
import type { Problem } from './problem.js';
import { readBySchema } from './schema-problems.js';
import { resolveSecret, secretReference } from './secret-reference.js';

/** A key in a keystore file. */
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

/** The curves that the key in a keystore file is for, or why the file is no keystore. Needs no passphrase. */
export type CurvesOfKeystore = (path: string) => Promise<readonly Curve[] | { readonly problem: string }>;

/** The signers of the file. */
export interface SignerEntries {
  readonly signers: readonly LocalSignerEntry[];
  /** Ids of all of them, valid or not, with the curves that they can sign on; undefined where that cannot be told. */
  readonly declared: ReadonlyMap<string, readonly Curve[] | undefined>;
}

/** Reads the signers and looks at their keystores. Problems go on the list. */
export async function signerEntries(
  entries: readonly FileEntry[],
  env: Environment,
  curvesOfKeystore: CurvesOfKeystore,
  problems: Problem[],
): Promise<SignerEntries> {
  const declared = new Map<string, readonly Curve[] | undefined>();
  for (const id of declaredNames(entries, 'id', problems)) declared.set(id, undefined);
  const signers: LocalSignerEntry[] = [];
  for (const entry of entries) {
    const signer = signerFromEntry(entry, env, problems);
    if (signer === undefined) continue;
    signers.push(signer);
    const curves = await curvesOfKeystore(signer.path);
    if ('problem' in curves) problems.push({ path: `${entry.path}.config.path`, problem: curves.problem });
    else declared.set(signer.id, curves);
  }
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
