import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { readSetting } from '../config/settings.js';
import { CliError } from './terminal/cli-error.js';
import { writeLine, writeNote } from './terminal/output.js';

/** `relayer audit verify|public-key`: shows whether files of the audit log were changed. */
export function registerAudit(program: Command): void {
  const audit = program
    .command('audit')
    .description('verify files of the audit log')
    .helpCommand('help [command]', 'print the help for a command')
    .addHelpText('after', '\nExamples:\n  relayer audit verify audit.log.1 audit.log\n  relayer audit public-key');
  audit
    .command('verify')
    .argument('<file...>', 'audit files of any instances, in any order, and logs with their lines "audit log signed"')
    .option('--public-key <hex...>', 'the public keys that may have signed; default: that of STORAGE_ENCRYPTION_KEY')
    .description(
      'find changed, added, dropped and moved lines, and list the chains: id, lines, number of the last signed line, end (ended; continued by another chain; open), lines that the service lost, separated by tabs',
    )
    .addHelpText(
      'after',
      '\nReads STORAGE_ENCRYPTION_KEY only. Exits with 1 if something is wrong. Lines that were cut off the end of an open chain show only if a log is given that was kept elsewhere.\n\nExample:\n  relayer audit verify /var/log/relayer/audit.log*',
    )
    .action(verify);
  audit
    .command('public-key')
    .description('print the public key whose signatures the audit log has, for those who verify without STORAGE_ENCRYPTION_KEY')
    .addHelpText('after', '\nReads STORAGE_ENCRYPTION_KEY only.\n\nExample:\n  relayer audit public-key')
    .action(async () => writeLine(await ownPublicKey()));
}

async function verify(files: readonly string[], options: { readonly publicKey?: readonly string[] }): Promise<void> {
  const publicKeys = options.publicKey ?? [await ownPublicKey()];
  for (const publicKey of publicKeys)
    if (!/^[0-9a-f]{64}$/.test(publicKey)) throw new CliError(`--public-key ${publicKey} must have 64 lowercase hex digits`, 2);
  const { verifyAudit } = await import('../observability/audit-verification.js');
  const { problems, chains } = await verifyAudit([...new Set(files)], publicKeys);
  for (const { chain, lines, signedTo, end, lost } of chains) writeLine([chain, lines, signedTo, end, lost].join('\t'));
  for (const { file, line, problem } of problems) writeNote(`${file}:${line}: ${problem}`);
  if (problems.length > 0) throw new CliError(`the audit log has ${problems.length === 1 ? '1 problem' : `${problems.length} problems`}`);
}

async function ownPublicKey(): Promise<string> {
  const { chainKeyFrom } = await import('../observability/audit-chain.js');
  return chainKeyFrom(readSetting(processEnvironment(), 'storageEncryptionKey')).publicKey;
}
