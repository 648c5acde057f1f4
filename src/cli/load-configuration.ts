import { type LoadedConfig, loadConfig } from '../config/config-file.js';
import type { Environment } from '../config/environment.js';
import { ConfigError, type Problem } from '../config/problem.js';
import { loadSettings, readSetting, type Settings } from '../config/settings.js';
import { curvesOfKeystoreFile } from './curves-of-keystore-file.js';

/** Reads the settings and the configuration file. Throws ConfigError with every problem of both. */
export async function loadConfiguration(env: Environment): Promise<{ readonly settings: Settings; readonly config: LoadedConfig }> {
  const problems: Problem[] = [];
  const settings = await collect(problems, () => loadSettings(env));
  const config = await collect(problems, () => {
    const source = { dir: readSetting(env, 'configDir'), fileName: readSetting(env, 'configFileName'), env };
    return loadConfig({ ...source, curvesOfKeystore: curvesOfKeystoreFile });
  });
  if (settings === undefined || config === undefined) throw new ConfigError(problems);
  return { settings, config };
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
