import { Command, CommanderError } from 'commander';
import { packageVersion } from '../config/package-version.js';
import { ConfigError } from '../config/problem.js';
import { DatabaseLockedError } from '../storage/database/database-locked-error.js';
import { DatabaseRefusedError } from '../storage/database/database-refused-error.js';
import { SqliteDriverError } from '../storage/sqlite/driver.js';
import { SqliteFileError } from '../storage/sqlite/open-sqlite-file.js';
import { registerApiKey } from './api-key.js';
import { registerAudit } from './audit.js';
import { registerBackup } from './backup.js';
import { registerCheckConfig } from './check-config.js';
import { registerDev } from './dev.js';
import { registerImportOpenzeppelin } from './import-openzeppelin.js';
import { registerInstances } from './instances.js';
import { registerKeystore } from './keystore.js';
import { registerMigrate } from './migrate.js';
import { registerRestore } from './restore.js';
import { registerRotateEncryptionKey } from './rotate-encryption-key.js';
import { registerServe } from './serve.js';
import { registerSigner } from './signer.js';
import { CliError } from './terminal/cli-error.js';
import { writeNote } from './terminal/output.js';

/**
 * The commands in the order of the help. Each imports its large parts (the service, databases, keys) only when it runs, so that help and
 * usage errors appear at once.
 */
const commands: readonly ((program: Command) => void)[] = [
  registerServe,
  registerDev,
  registerCheckConfig,
  registerMigrate,
  registerBackup,
  registerRestore,
  registerKeystore,
  registerSigner,
  registerApiKey,
  registerAudit,
  registerInstances,
  registerRotateEncryptionKey,
  registerImportOpenzeppelin,
];

/** Runs the command line. Returns the exit code: 0 success, 1 failure, 2 wrong usage, configuration or runtime. Never throws. */
export async function runCli(args: readonly string[]): Promise<number> {
  try {
    await createProgram().parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return reportError(error);
  }
}

function createProgram(): Command {
  const program = new Command('relayer')
    .description('Holds keys, sends transactions and gets them mined, signs typed data, and notifies other systems by webhook.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help for a command')
    .showHelpAfterError('Run with --help to see the commands and options.')
    .addHelpText('after', '\nExit codes: 0 success, 1 failure, 2 wrong usage or configuration.')
    // Return the exit code instead of letting Commander end the process.
    .exitOverride();
  for (const register of commands) register(program);
  return program;
}

/** Prints the error without a stack and returns the exit code. */
function reportError(error: unknown): 0 | 1 | 2 {
  // Commander has already printed its own message; 0 means that the user asked for help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof ConfigError) {
    const { length } = error.problems;
    for (const notice of error.notices) writeNote(`note: ${notice}`);
    writeNote(`error: the configuration has ${length === 1 ? '1 problem' : `${length} problems`}:`);
    for (const { path, problem } of error.problems) writeNote(`  ${path}: ${problem}`);
    return 2;
  }
  if (error instanceof DatabaseLockedError) {
    writeNote(`error: ${error.message}; stop it first`);
    return 2;
  }
  writeNote(`error: ${messageOf(error)}`);
  if (error instanceof SqliteDriverError || error instanceof DatabaseRefusedError) return 2;
  if (error instanceof SqliteFileError && !error.mayPass) return 2;
  return error instanceof CliError ? error.exitCode : 1;
}

/** Joins the messages of an error and its causes into one line. A message that ends with its cause already is not repeated. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unexpected failure';
  const own = error.message === '' && 'code' in error ? String(error.code) : error.message;
  const cause = error.cause instanceof Error ? messageOf(error.cause) : '';
  const text = own.endsWith(cause) ? own : `${own}: ${cause}`;
  return text.replace(/\s*\n\s*/g, ' ');
}
