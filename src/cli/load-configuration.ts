import { type LoadedConfig, loadConfig } from '../config/config-file.js';
import type { Environment } from '../config/environment.js';
import { fileProblem, type RegularFile, readRegularFile } from '../config/json-file.js';
import { ConfigError, type Problem } from '../config/problem.js';
import { loadSettings, readSetting, type Settings, settings as settingsTable } from '../config/settings.js';
import type { ReadKeystore } from '../config/signer-entries.js';
import { KeystoreError } from '../signers/local/keystore-error.js';
import { keystoreFrom } from '../signers/local/open-signer.js';
import { addressFromUrl } from '../storage/database-url.js';
import { checkCertificate } from './check-certificate.js';
import { readableByOthers } from './readable-by-others.js';

/** Reads the settings and the configuration file. Throws ConfigError with every problem of both. */
export async function loadConfiguration(env: Environment): Promise<{ readonly settings: Settings; readonly config: LoadedConfig }> {
  const problems: Problem[] = [];
  const notices: string[] = [];
  const settings = await collect(problems, notices, () => loadSettings(env));
  const certificate = settings === undefined ? null : checkCertificate(settings, Date.now());
  if (settings !== undefined) problems.push(...databaseUrlProblems(settings.databaseUrl), ...(certificate?.problems ?? []));
  const keystores = createKeystoreFiles();
  const config = await collect(problems, notices, () => {
    const source = { dir: readSetting(env, 'configDir'), fileName: readSetting(env, 'configFileName'), env };
    return loadConfig({ ...source, readKeystore: keystores.read });
  });
  if (settings === undefined || config === undefined || problems.length > 0)
    throw new ConfigError(problems, [...notices, ...(settings?.notices ?? []), ...(config?.notices ?? [])]);
  const ofFiles = [...keystores.notices(), ...(certificate?.notices ?? [])];
  return { settings, config: { ...config, notices: [...config.notices, ...ofFiles] } };
}

/** What opening the database would refuse in its URL, and in the files that the URL names. */
function databaseUrlProblems(databaseUrl: string): readonly Problem[] {
  try {
    addressFromUrl(databaseUrl);
    return [];
  } catch (error) {
    return [{ path: 'DATABASE_URL', problem: (error as Error).message }];
  }
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

/** The keystore files of a configuration. */
interface KeystoreFiles {
  readonly read: ReadKeystore;
  /** Warns of the files that other users of the machine can read: only the passphrase protects those keys. */
  notices(): readonly string[];
}

function createKeystoreFiles(): KeystoreFiles {
  const readable = new Set<string>();
  return {
    read(path) {
      let file: RegularFile;
      try {
        file = readRegularFile(path);
      } catch (error) {
        return { problem: `the keystore file ${path} ${fileProblem(error)}` };
      }
      if ((file.mode & readableByOthers) !== 0) readable.add(path);
      try {
        return keystoreFrom(file.bytes.toString('utf8'));
      } catch (error) {
        if (error instanceof KeystoreError) return { problem: error.message };
        throw error;
      }
    },
    notices: () => [...readable].map((path) => `the keystore ${path} can be read by other users; run chmod 600 on it`),
  };
}

/** Sorts settings by need: what must be set, what may be, what only some networks, signers or commands use. */
function rarity(setting: (typeof settingsTable)[number]): number {
  if (setting.default === undefined) return 0;
  return setting.doc.startsWith('Only for ') ? 2 : 1;
}

/** Returns the table of settings as a paragraph for a command's help, what must be set first. */
export function settingsHelp(): string {
  const width = Math.max(...settingsTable.map(({ name }) => name.length));
  const lines = [...settingsTable]
    .sort((one, other) => rarity(one) - rarity(other))
    .map((setting) => `  ${setting.name.padEnd(width)}  ${setting.doc}${defaultOf(setting.default)}`);
  return `\nSettings (environment variables):\n${lines.join('\n')}`;
}

function defaultOf(text: string | undefined): string {
  if (text === undefined) return ' Required.';
  return text === '' ? '' : ` Default: ${text}`;
}
