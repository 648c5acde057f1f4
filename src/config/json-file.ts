import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { JsonError, jsonFromBytes } from '../json/json-reader.js';
import type { JsonValue } from '../json/json-value.js';

/** The content of a JSON file. */
interface JsonFile {
  readonly value: JsonValue;
  /** The SHA-256 of its bytes, in hex. */
  readonly digest: string;
}

/** Reads a JSON file, or returns why it cannot be used, as a text that follows the file's name. */
export function readJsonFile(file: string): JsonFile | { readonly problem: string } {
  try {
    const { bytes } = readRegularFile(file);
    return { value: jsonFromBytes(bytes, { allowByteOrderMark: true }), digest: createHash('sha256').update(bytes).digest('hex') };
  } catch (error) {
    return { problem: error instanceof JsonError ? error.message : fileProblem(error) };
  }
}

/** The code of the error for a pipe, a device or a socket. */
const notRegular = 'ENOTREGULAR';

/** A file that was read. */
export interface RegularFile {
  readonly bytes: Buffer;
  /** As `stat` returns it. */
  readonly mode: number;
}

/**
 * Reads a file. Throws for a pipe or a device, whose end may never come. Only a command or a start reads files, before anything else runs:
 * there may be thousands, and threads would take five times as long for each.
 */
export function readRegularFile(file: string): RegularFile {
  const found = statSync(file);
  // Reading a folder fails by itself.
  if (!found.isFile() && !found.isDirectory()) throw Object.assign(new Error(`${file} is not a regular file`), { code: notRegular });
  return { bytes: readFileSync(file), mode: found.mode };
}

/** True if a file or folder does not exist. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT';
}

/** Returns why a file or folder cannot be used, as a text that follows its name. */
export function fileProblem(error: unknown): string {
  const code = codeOf(error);
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return 'cannot be read: permission denied';
  if (code === notRegular) return 'is not a regular file';
  if (code === 'EISDIR') return 'is a folder';
  if (code === 'ENOTDIR') return 'is not a folder';
  return `cannot be read (${String(code)})`;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
