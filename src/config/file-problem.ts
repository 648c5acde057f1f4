/** True when a file or folder is not there. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** Why a file or folder cannot be used, to be read after its name. */
export function fileProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return 'may not be read by this user';
  if (code === 'EISDIR') return 'is a folder';
  if (code === 'ENOTDIR') return 'is not a folder';
  return `cannot be read (${String(code)})`;
}
