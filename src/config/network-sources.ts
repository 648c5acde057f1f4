import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileEntry, fileEntries } from './file-entries.js';
import { fileProblem } from './file-problem.js';
import { JsonError, jsonFromText } from './json-document.js';
import type { Problem } from './problem.js';

/**
 * The networks of the configuration: a list in the file itself, or a folder whose `*.json` files hold `{"networks": [...]}` each.
 *
 * `value` is what the file has under `networks`; absent, null and "" mean the folder `networks` beside the file. A path is relative to the
 * working folder. Files are read in the order of their names.
 */
export async function networkSources(value: unknown, configDir: string, problems: Problem[]): Promise<readonly FileEntry[]> {
  if (value !== undefined && value !== null && typeof value !== 'string') return fileEntries(value, 'networks', problems);
  const folder = typeof value === 'string' && value !== '' ? value : join(configDir, 'networks');
  let names: readonly string[];
  try {
    names = (await readdir(folder)).filter((name) => name.toLowerCase().endsWith('.json')).sort();
  } catch (error) {
    problems.push({ path: 'networks', problem: `must be a list, or a folder of *.json files; the folder ${folder} ${fileProblem(error)}` });
    return [];
  }
  if (names.length === 0) problems.push({ path: 'networks', problem: `the folder ${folder} has no *.json files` });
  const entries = await Promise.all(names.map((name) => entriesOfFile(join(folder, name), problems)));
  return entries.flat();
}

async function entriesOfFile(file: string, problems: Problem[]): Promise<readonly FileEntry[]> {
  try {
    const document = jsonFromText(await readFile(file, 'utf8'));
    const networks: unknown = Object.getOwnPropertyDescriptor(Object(document), 'networks')?.value;
    if (networks !== undefined) return fileEntries(networks, `${file} networks`, problems);
    problems.push({ path: file, problem: 'must be an object with a list "networks"' });
  } catch (error) {
    problems.push({ path: file, problem: error instanceof JsonError ? error.message : fileProblem(error) });
  }
  return [];
}
