import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { JsonError, jsonFromText } from '../json/json-document.js';
import { type FileEntry, fileEntries } from './file-entries.js';
import { fileProblem, isMissing } from './file-problem.js';
import type { Problem } from './problem.js';

/**
 * The networks of the configuration: a list in the file itself, or a `*.json` file or a folder of them, which hold `{"networks": [...]}` each.
 *
 * `value` is what the file has under `networks`; absent, null and "" mean the folder `networks` beside the file, if there is one. A path is
 * relative to the working folder. Files are read in the order of their names.
 */
export async function networkSources(value: unknown, configDir: string, problems: Problem[]): Promise<readonly FileEntry[]> {
  if (value !== undefined && value !== null && typeof value !== 'string') return fileEntries(value, 'networks', problems);
  const isSaid = typeof value === 'string' && value !== '';
  const place = isSaid ? value : join(configDir, 'networks');
  let files: readonly string[];
  try {
    files = (await stat(place)).isDirectory() ? await filesOf(place) : [place];
  } catch (error) {
    // What nobody asked for need not be there: networks come with the service too.
    if (isSaid || !isMissing(error)) problems.push({ path: 'networks', problem: `${place} ${fileProblem(error)}` });
    return [];
  }
  if (files.length === 0 && isSaid) problems.push({ path: 'networks', problem: `the folder ${place} has no *.json files` });
  const entries = await Promise.all(files.map((file) => entriesOfFile(file, problems)));
  return entries.flat();
}

async function filesOf(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder);
  const chosen = names.filter((name) => name.toLowerCase().endsWith('.json')).sort();
  return chosen.map((name) => join(folder, name));
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
