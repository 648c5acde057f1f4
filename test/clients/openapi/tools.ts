import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../run-command.js';

/*
 * The generators, in the versions that the tests pin. Each is fetched once by its registry's own client into a folder of the user's cache.
 */

const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'relayer-clients');

/** Fetches openapi-generator; resolves to its jar. */
export async function openApiGenerator(): Promise<string> {
  const version = '7.25.0';
  const folder = await cached(`openapi-generator-${version}`, async (target) => {
    const artifact = `-Dartifact=org.openapitools:openapi-generator-cli:${version}`;
    await runCommand('mvn', ['-q', '-B', 'dependency:copy', artifact, `-DoutputDirectory=${target}`], { cwd: target });
  });
  return join(folder, `openapi-generator-cli-${version}.jar`);
}

/** Builds oapi-codegen; resolves to its program. */
export async function oapiCodegen(): Promise<string> {
  const version = 'v2.8.2';
  const folder = await cached(`oapi-codegen-${version}`, async (target) => {
    const module = `github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@${version}`;
    await runCommand('go', ['install', module], { cwd: target, env: { GOBIN: target } });
  });
  return join(folder, 'oapi-codegen');
}

/** Makes a Python environment with these packages; resolves to its Python. Its scripts are beside it. */
export async function pythonWith(name: string, packages: readonly string[]): Promise<string> {
  // The scripts of an environment contain its path, so it is made in its place.
  const folder = join(cache, name);
  const marker = join(folder, 'complete');
  if (!existsSync(marker)) {
    await rm(folder, { recursive: true, force: true });
    await mkdir(cache, { recursive: true });
    await runCommand('python3', ['-m', 'venv', folder], { cwd: cache });
    await runCommand(join(folder, 'bin', 'pip'), ['install', '-q', ...packages], { cwd: cache });
    await mkdir(marker);
  }
  return join(folder, 'bin', 'python');
}

/** Installs packages of npm; resolves to the folder that has their `node_modules`. */
export function npmPackages(name: string, packages: readonly string[]): Promise<string> {
  return cached(name, async (target) => {
    await runCommand('npm', ['install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts', '--prefix', target, ...packages], {
      cwd: target,
    });
  });
}

/** Fills a folder of the cache once: under another name first, so that an interrupted fetch leaves nothing behind. */
async function cached(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cache, name);
  if (existsSync(folder)) return folder;
  const partial = `${folder}.${process.pid}`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial, { recursive: true });
  await fill(partial);
  await rename(partial, folder);
  return folder;
}
