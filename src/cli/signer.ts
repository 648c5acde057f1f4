import type { Command } from 'commander';
import type { LoadedConfig } from '../config/config-file.js';
import { processEnvironment } from '../config/environment.js';
import type { Settings } from '../config/settings.js';
import { DomainError } from '../core/errors/errors.js';
import type { HostedKeys } from '../core/signer/signers.js';
import { monotonicMs } from '../core/work/clock.js';
import type { Log } from '../core/work/log.js';
import { loadConfiguration, settingsHelp } from './load-configuration.js';
import { CliError } from './terminal/cli-error.js';
import { writeLine, writeNote } from './terminal/output.js';

/** `relayer signer test`: tries the signers of the configuration file. */
export function registerSigner(program: Command): void {
  const signer = program
    .command('signer')
    .description('test the signers in the configuration file')
    .helpCommand('help [command]', 'print the help for a command')
    .addHelpText('after', '\nExample:\n  relayer signer test treasury');
  signer
    .command('test')
    .argument('[id]', 'the id of a signer; default: every signer in the file')
    .description(
      'sign a fixed text with each signer, and print its id, type, address or public key, and the time in milliseconds, separated by tabs',
    )
    .addHelpText(
      'after',
      '\nReads the configuration as serve does. Does not open the database, so it can run beside the service, but does not test signers that the API' +
        '\ncreated: use POST /signers/{id}/test for those. If a signer cannot sign, its line has "failed" and the reason, and the exit code is 1.' +
        '\n\nExamples:\n  relayer signer test\n  relayer signer test treasury',
    )
    .addHelpText('after', settingsHelp())
    .action(testSigners);
}

type Entry = LoadedConfig['signers'][number];

async function testSigners(id: string | undefined): Promise<void> {
  const { settings, config } = await loadConfiguration(processEnvironment());
  const chosen = config.signers.filter((entry) => id === undefined || entry.id === id);
  if (chosen.length === 0) {
    const known = config.signers.map((entry) => entry.id).join(', ');
    throw new CliError(
      id === undefined ? 'the configuration file has no signer' : `unknown signer id; ids in the configuration file: ${known}`,
      2,
    );
  }
  const hostedKeys = await openerOf(settings, config);
  let failed = 0;
  for (const entry of chosen) {
    const type = 'hosted' in entry ? entry.hosted.type : 'local';
    const outcome = await testOf(entry, hostedKeys).catch((error: unknown) => failureOf(error));
    if ('reason' in outcome) failed += 1;
    writeLine([entry.id, type, ...('reason' in outcome ? ['failed', outcome.reason] : outcome.shown)].join('\t'));
  }
  if (failed > 0) throw new CliError(`${failed} of ${chosen.length} signers failed`);
}

async function openerOf(settings: Settings, config: LoadedConfig): Promise<HostedKeys> {
  const { createHostedKeys, operatorChoices } = await import('../app/open-hosted-keys.js');
  // The reason that callers get has no detail of the provider's answer; the log has.
  const note = (fields: object): void => {
    if ('detail' in fields) writeNote(`note: ${String(fields.detail)}`);
  };
  const log: Log = { debug: () => undefined, info: () => undefined, warn: note, error: note };
  return createHostedKeys(log, operatorChoices(config, settings));
}

/** Opens a signer and signs with it. Throws if it cannot. */
async function testOf(entry: Entry, hostedKeys: HostedKeys): Promise<{ readonly shown: readonly string[] }> {
  const [{ createSigners, testSigner }, { keccak256 }] = await Promise.all([
    import('../core/signer/signers.js'),
    import('../crypto/keccak.js'),
  ]);
  const signer =
    'hosted' in entry
      ? (await hostedKeys.open(entry.id, entry.hosted, null)).signer
      : await entry.keystore.open(entry.id, entry.passphrase);
  try {
    const signers = createSigners();
    signers.add(signer, null);
    const { evmAddress, publicKey, milliseconds } = await testSigner({ signers, keccak256, elapsedMs: monotonicMs }, entry.id);
    const ed25519 = publicKey === null ? null : Buffer.from(publicKey).toString('hex');
    return { shown: [[evmAddress, ed25519].filter((one) => one !== null).join(' '), `${milliseconds} ms`] };
  } finally {
    await signer.close?.();
  }
}

/** The error of a provider or of a keystore is for operators; any other is a bug, and ends the command. */
async function failureOf(error: unknown): Promise<{ readonly reason: string }> {
  const { KeystoreError } = await import('../signers/local/keystore-error.js');
  if (error instanceof KeystoreError) return { reason: error.message };
  if (!(error instanceof DomainError)) throw error;
  const [field] = error.fields;
  return { reason: field === undefined ? error.message : `${field.field} ${field.description}` };
}
