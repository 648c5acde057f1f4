import { stat } from 'node:fs/promises';
import { type LoadedConfig, loadConfig } from '../config/config-file.js';
import type { Environment } from '../config/environment.js';
import { fileProblem, readRegularFile } from '../config/json-file.js';
import { ConfigError, type Problem } from '../config/problem.js';
import { loadSettings, readSetting, type Settings, settings as settingsTable } from '../config/settings.js';
import type { CurvesOfKeystore } from '../config/signer-entries.js';
import { KeystoreError } from '../signers/local/keystore-error.js';
import { curvesOfKeystore } from '../signers/local/open-signer.js';

/** The bits of a file's mode that let its group or everyone read it. */
const readableByOthers = 0o044;

/** Reads the settings and the configuration file. Throws ConfigError with every problem of both. */
export async function loadConfiguration(env: Environment): Promise<{ readonly settings: Settings; readonly config: LoadedConfig }> {
  const problems: Problem[] = [];
  const notices: string[] = [];
  const settings = await collect(problems, notices, () => loadSettings(env));
  const config = await collect(problems, notices, () => {
    const source = { dir: readSetting(env, 'configDir'), fileName: readSetting(env, 'configFileName'), env };
    return loadConfig({ ...source, curvesOfKeystore: curvesOfKeystoreFile });
  });
  if (settings === undefined || config === undefined)
    throw new ConfigError(problems, [...notices, ...(settings?.notices ?? []), ...(config?.notices ?? [])]);
  return { settings, config: { ...config, notices: [...config.notices, ...(await openKeystores(config))] } };
}

/** Warns of keystores that other users of the machine can read: only the passphrase protects those keys. */
async function openKeystores({ signers }: LoadedConfig): Promise<readonly string[]> {
  const paths = [...new Set(signers.flatMap((signer) => ('path' in signer ? [signer.path] : [])))];
  const modes = await Promise.all(paths.map(async (path) => ({ path, mode: (await stat(path)).mode })));
  return modes
    .filter(({ mode }) => (mode & readableByOthers) !== 0)
    .map(({ path }) => `the keystore ${path} can be read by other users; run chmod 600 on it`);
}

/** Returns the result of `load`. If it throws ConfigError, adds its problems and notices to the lists and returns undefined. */
async function collect<T>(problems: Problem[], notices: string[], load: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await load();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
    notices.push(...error.notices);
    return undefined;
  }
}

/** Reads the curves of a keystore file without decrypting it. */
const curvesOfKeystoreFile: CurvesOfKeystore = async (path) => {
  let json: string;
  try {
    json = (await readRegularFile(path)).toString('utf8');
  } catch (error) {
    return { problem: `the keystore file ${path} ${fileProblem(error)}` };
  }
  try {
    return curvesOfKeystore(json);
  } catch (error) {
    if (error instanceof KeystoreError) return { problem: error.message };
    throw error;
  }
};

/** Returns the table of settings as a paragraph for a command's help. */
export function settingsHelp(): string {
  const width = Math.max(...settingsTable.map(({ name }) => name.length));
  const lines = settingsTable.map((setting) => `  ${setting.name.padEnd(width)}  ${setting.doc}${defaultOf(setting.default)}`);
  return `\nSettings (environment variables):\n${lines.join('\n')}`;
}

function defaultOf(text: string | undefined): string {
  if (text === undefined) return ' Required.';
  return text === '' ? '' : ` Default: ${text}`;
}
