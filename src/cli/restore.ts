import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { readSetting } from '../config/settings.js';
import type { Transaction } from '../core/records/transaction.js';
import type { Ended } from '../core/transaction/end-waiting.js';
import { createLogger } from '../observability/logger.js';
import { CliError } from './terminal/cli-error.js';
import { writeLine } from './terminal/output.js';

/** `relayer restore`: puts a backup in place and fails the transactions that must not be sent again. */
export function registerRestore(program: Command): void {
  program
    .command('restore')
    .description('restore a backup, and mark its waiting transactions as failed, because they may have been sent since')
    .argument('[file]', 'a copy that relayer backup made; omit it if another tool has already restored the database')
    .option('--yes', 'without a file: mark the waiting transactions as failed without asking')
    .option('--complete', 'without a file: keep the waiting transactions, because the database has every commit, as after pg_upgrade')
    .addHelpText(
      'after',
      '\nReads DATABASE_URL only. Stop the service first. The command marks the transactions that were not signed yet as failed, and' +
        '\nlists them: check on the chain whether they were sent after the backup. Read docs/operations.md first.' +
        '\n\nExample:\n  relayer restore /backups/relayer-2026-01-31.db',
    )
    .action(restoreDatabase);
}

interface Options {
  readonly yes?: boolean;
  readonly complete?: boolean;
}

async function restoreDatabase(file: string | undefined, { yes = false, complete = false }: Options): Promise<void> {
  if (file !== undefined && complete) throw new CliError('--complete needs a database that is in place; omit the file', 2);
  // With a file nothing is at stake: the database is new, and the backup stays.
  if (file === undefined && !yes && !complete) await confirm();
  const databaseUrl = readSetting(processEnvironment(), 'databaseUrl');
  const { restore } = await import('../storage/restore.js');
  const log = createLogger({ level: 'warn', destination: process.stderr });
  const totals = { ended: 0, signed: 0 };
  const onEnded = ({ ended, signed }: Ended) => {
    totals.ended += ended.length;
    totals.signed += signed.length;
    for (const transaction of ended) writeLine(`failed ${named(transaction)}`);
    for (const { transaction, attempts } of signed) {
      const hashes = attempts.map(({ hash }) => hash).join(' ');
      writeLine(`signed ${named(transaction)} nonce ${transaction.nonce ?? 'none'} hash ${hashes}`);
    }
  };
  const restored = await restore(databaseUrl, file ?? null, log, { isComplete: complete, onEnded });
  if (complete) writeLine('the database is accepted as complete; its waiting transactions will be sent');
  else writeLine(`waiting transactions, now failed: ${totals.ended}; signed transactions, decided by the chain: ${totals.signed}`);
  // In full: a restore in another folder than the service's would leave the service to start on a new, empty database.
  if (restored !== null) writeLine(`restored ${resolve(restored)}`);
}

/** Throws CliError unless a person agrees. */
async function confirm(): Promise<void> {
  const consequence = 'this marks every waiting transaction of the database at DATABASE_URL as failed';
  if (!process.stdin.isTTY) throw new CliError(`${consequence}; confirm it with --yes`, 2);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${consequence}. Continue? [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('nothing was changed');
}

function named({ relayerId, id }: Transaction): string {
  return `relayer ${relayerId} transaction ${id}`;
}
