import type { Command } from 'commander';
import type { LoadedConfig } from '../config/config-file.js';
import { processEnvironment } from '../config/environment.js';
import { weakNetworks, weakSettings } from '../config/weak-settings.js';
import { loadConfiguration, settingsHelp } from './load-configuration.js';
import { CliError } from './terminal/cli-error.js';
import { writeLine, writeNote } from './terminal/output.js';

/** `relayer check-config`: reports whether `serve` would accept the settings and the configuration file. */
export function registerCheckConfig(program: Command): void {
  program
    .command('check-config')
    .description('check the settings and the configuration file, and report every problem at once')
    .addHelpText(
      'after',
      '\nReads the files of keystores and certificates. Does not open a database or a connection, and does not decrypt a keystore.\n\nExample:\n  CONFIG_DIR=./config relayer check-config',
    )
    .addHelpText('after', settingsHelp())
    .option('--production', 'also fail on settings that work, but protect keys and money less than they could')
    .action(checkConfig);
}

async function checkConfig({ production = false }: { readonly production?: boolean }): Promise<void> {
  const { settings, config } = await loadConfiguration(processEnvironment());
  for (const notice of [...settings.notices, ...config.notices]) writeNote(`note: ${notice}`);
  const weak = production ? [...weakSettings(settings), ...weakNetworks(config)] : [];
  if (weak.length > 0) throw new CliError(['not ready for production:', ...weak].join('\n  '), 2);
  writeLine(`configuration is valid: ${summaryOf(config)}`);
}

function summaryOf({ relayers, signers, notifications }: LoadedConfig): string {
  const parts: readonly (readonly [number, string])[] = [
    [relayers.length, 'relayer'],
    [new Set(relayers.map(({ network }) => network)).size, 'network'],
    [signers.length, 'signer'],
    [notifications.length, 'notification'],
  ];
  return parts.map(([count, noun]) => `${count} ${noun}${count === 1 ? '' : 's'}`).join(', ');
}
