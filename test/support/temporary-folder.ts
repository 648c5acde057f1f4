import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';

/** A new folder with these files (name to content; not text: written as JSON), removed when the test file ends. */
export async function temporaryFolder(files: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'relayer-test-'));
  after(() => rm(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return folder;
}
