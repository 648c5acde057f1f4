import { access, open, unlink } from 'node:fs/promises';
import { CliError } from './cli-error.js';

/** Throws CliError where something is already at this path, so that nobody waits for work that cannot be kept. */
export async function checkNewFile(file: string): Promise<void> {
  const exists = await access(file).then(
    () => true,
    () => false,
  );
  if (exists) throw new CliError(`${file} already exists; it is never overwritten`);
}

/** Writes a new file that only its owner can read, and waits until it is on the disk. Throws CliError where it cannot be made. */
export async function writeNewSecretFile(file: string, content: string): Promise<void> {
  const handle = await open(file, 'wx', 0o600).catch((error: unknown) => {
    throw new CliError(`${file} ${openProblem(error)}`);
  });
  try {
    await handle.writeFile(content);
    await handle.sync();
  } catch (error) {
    await unlink(file);
    throw error;
  } finally {
    await handle.close();
  }
}

function openProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EEXIST') return 'already exists; it is never overwritten';
  if (code === 'ENOENT') return 'cannot be made: its folder does not exist';
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return 'cannot be made: this user may not write there';
  return `cannot be made (${String(code)})`;
}
