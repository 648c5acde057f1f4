import { readFileSync, statSync } from 'node:fs';
import { fileProblem } from './json-file.js';

/** No secret is this large. */
const maxBytes = 64 * 1024;

/**
 * Reads a secret from a file, without the line breaks at its end, or returns why it cannot, as a text that follows `names a file that`.
 * Such files are small and local, so reading holds up nothing.
 */
export function readSecretFile(file: string): { readonly text: string } | { readonly problem: string } {
  try {
    const found = statSync(file);
    if (!found.isFile()) return { problem: found.isDirectory() ? 'is a folder' : 'is not a regular file' };
    if (found.size > maxBytes) return { problem: `has ${found.size} bytes; the maximum is ${maxBytes}` };
    const text = readFileSync(file, 'utf8').replace(/[\r\n]+$/, '');
    return text === '' ? { problem: 'is empty' } : { text };
  } catch (error) {
    return { problem: fileProblem(error) };
  }
}
