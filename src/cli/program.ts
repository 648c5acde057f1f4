import { Command } from 'commander';
import { packageVersion } from '../config/package-version.js';
import { registerApiKey } from './api-key.js';
import { registerBackup } from './backup.js';
import { registerCheckConfig } from './check-config.js';
import { registerDev } from './dev.js';
import { registerKeystore } from './keystore.js';
import { registerMigrate } from './migrate.js';
import { reportError } from './report-error.js';
import { registerRestore } from './restore.js';
import { registerRotateEncryptionKey } from './rotate-encryption-key.js';
import { registerServe } from './serve.js';

/** Adds one command to the program. */
export type Register = (program: Command) => void;

/**
 * Every command, in the order of the help. What only one of them needs and is large (the service, databases, keys) is imported when it runs, so
 * that help and mistakes are told at once.
 */
const commands: readonly Register[] = [
  registerServe,
  registerDev,
  registerCheckConfig,
  registerMigrate,
  registerBackup,
  registerRestore,
  registerKeystore,
  registerApiKey,
  registerRotateEncryptionKey,
];

/** Runs the command line and returns the exit code: 0 done, 1 failed, 2 wrong usage or configuration. Never throws. */
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
    .description('Holds the keys, gets transactions mined, signs typed data, and tells other systems by webhook.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showHelpAfterError('Add --help to see what is possible.')
    .addHelpText('after', '\nExit codes: 0 done, 1 failed, 2 wrong usage or configuration.')
    // Commander would end the process itself; here the exit code is returned.
    .exitOverride();
  for (const register of commands) register(program);
  return program;
}
