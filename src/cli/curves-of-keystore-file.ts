import { readFile } from 'node:fs/promises';
import { fileProblem } from '../config/file-problem.js';
import type { CurvesOfKeystore } from '../config/signer-entries.js';
import { KeystoreError } from '../signers/local/keystore-error.js';
import { curvesOfKeystore } from '../signers/local/open-signer.js';

/** Looks at a keystore file without opening it. */
export const curvesOfKeystoreFile: CurvesOfKeystore = async (path) => {
  let json: string;
  try {
    json = await readFile(path, 'utf8');
  } catch (error) {
    return { problem: `the keystore file ${path} ${fileProblem(error)}` };
  }
  try {
    return curvesOfKeystore(json);
  } catch (error) {
    if (error instanceof KeystoreError) return { problem: error.message };
    throw error;
  }
};
