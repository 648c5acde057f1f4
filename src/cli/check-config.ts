import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import type { Command } from 'commander';
import { type LoadedConfig, loadConfig } from '../config/config-file.js';
import { type Environment, processEnvironment } from '../config/environment.js';
import { fileProblem } from '../config/file-problem.js';
import { ConfigError, type Problem } from '../config/problem.js';
import { loadSettings, readSetting } from '../config/settings.js';
import type { LocalSignerEntry } from '../config/signer-entries.js';
import { writeLine, writeNote } from './output.js';
import { settingsHelp } from './settings-help.js';

/** `relayer check-config`: says whether `serve` would take the settings and the configuration file. */
export function registerCheckConfig(program: Command): void {
  program
    .command('check-config')
    .description('check the settings and the configuration file, and tell every problem at once')
    .addHelpText('after', '\nOpens no database, no keystore and no connection.\n\nExample:\n  CONFIG_DIR=./config relayer check-config')
    .addHelpText('after', settingsHelp())
    .action(checkConfig);
}

async function checkConfig(): Promise<void> {
  const env = processEnvironment();
  const problems: Problem[] = [];
  const settings = await collect(problems, () => loadSettings(env));
  const config = await collect(problems, () => loadFile(env));
  if (config !== undefined) problems.push(...(await keystoreProblems(config.signers)));
  if (problems.length > 0 || settings === undefined || config === undefined) throw new ConfigError(problems);
  for (const notice of [...settings.notices, ...config.notices]) writeNote(`note: ${notice}`);
  writeLine(`configuration is valid: ${summary(config)}`);
}

/** What `load` returns; undefined when it throws ConfigError, whose problems then are on the list. */
async function collect<T>(problems: Problem[], load: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
    return undefined;
  }
}

function loadFile(env: Environment): Promise<LoadedConfig> {
  return loadConfig({ dir: readSetting(env, 'configDir'), fileName: readSetting(env, 'configFileName'), env });
}

async function keystoreProblems(signers: readonly LocalSignerEntry[]): Promise<readonly Problem[]> {
  const found = await Promise.all(
    signers.map(async ({ path }, index): Promise<readonly Problem[]> => {
      try {
        await access(path, constants.R_OK);
        return [];
      } catch (error) {
        return [{ path: `signers[${index}].config.path`, problem: `the keystore file ${path} ${fileProblem(error)}` }];
      }
    }),
  );
  return found.flat();
}

function summary({ relayers, networks, signers, notifications }: LoadedConfig): string {
  const parts: readonly (readonly [number, string])[] = [
    [relayers.length, 'relayer'],
    [networks.length, 'network'],
    [signers.length, 'signer'],
    [notifications.length, 'notification'],
  ];
  return parts.map(([count, what]) => `${count} ${what}${count === 1 ? '' : 's'}`).join(', ');
}
