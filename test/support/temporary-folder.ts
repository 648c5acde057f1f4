import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const folders: string[] = [];
// Not in a hook `after`: Node 20 runs one that a hook `before` adds right after that hook, which would remove the folder before the first test.
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Makes a folder with these files (name to content; anything but text is written as JSON). It is removed when the process ends. */
export async function temporaryFolder(files: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'relayer-test-'));
  folders.push(folder);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return folder;
}
