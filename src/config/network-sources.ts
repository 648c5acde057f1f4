import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonValue } from '../json/json-value.js';
import { type FileEntry, fileEntries } from './file-entries.js';
import { fileProblem, isMissing, readJsonFile } from './json-file.js';
import type { Problems } from './problem.js';

/**
 * Returns the networks of the configuration: a list in the file itself, or a `*.json` file or a folder of them with `{"networks": [...]}` in each.
 *
 * `value` is what the file has under `networks`; absent, null and "" mean the folder `networks` next to the file, if it exists. A path is
 * relative to the working folder. Files are read in the order of their names.
 */
export async function networkSources(value: JsonValue | undefined, configDir: string, problems: Problems): Promise<readonly FileEntry[]> {
  if (value !== undefined && value !== null && typeof value !== 'string') return fileEntries(value, 'networks', problems);
  const isGiven = typeof value === 'string' && value !== '';
  const place = isGiven ? value : join(configDir, 'networks');
  let files: readonly string[];
  try {
    files = (await stat(place)).isDirectory() ? await filesOf(place) : [place];
  } catch (error) {
    // The default folder is optional, since networks are bundled too.
    if (isGiven || !isMissing(error))
      problems.add('networks', `${place} ${fileProblem(error)}; copy it, or leave networks out to use the bundled ones`);
    return [];
  }
  if (files.length === 0 && isGiven) problems.add('networks', `the folder ${place} has no *.json files`);
  const entries = await Promise.all(files.map((file) => entriesOfFile(file, problems)));
  return entries.flat();
}

async function filesOf(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder);
  const chosen = names.filter((name) => name.toLowerCase().endsWith('.json')).sort();
  return chosen.map((name) => join(folder, name));
}

async function entriesOfFile(file: string, problems: Problems): Promise<readonly FileEntry[]> {
  const read = await readJsonFile(file);
  const networks = 'value' in read && read.value instanceof Map ? read.value.get('networks') : undefined;
  if (networks !== undefined) return fileEntries(networks, `${file} networks`, problems);
  problems.add(file, 'problem' in read ? read.problem : 'must be an object with an array "networks"');
  return [];
}
