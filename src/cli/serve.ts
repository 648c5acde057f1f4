import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { createLogger } from '../observability/logger.js';
import { DatabaseLockedError } from '../storage/database-locked-error.js';
import { CliError } from './cli-error.js';
import { loadConfiguration } from './load-configuration.js';
import { settingsHelp } from './settings-help.js';
import { untilSignalled } from './until-signalled.js';

/** `relayer serve`: runs the service until it is told to stop. */
export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('run the service until SIGTERM or Ctrl-C')
    .addHelpText('after', '\nLogs are JSON lines on stdout. SIGTERM lets running calls end, for at most 10 s.\n\nExample:\n  relayer serve')
    .addHelpText('after', settingsHelp())
    .action(serve);
}

async function serve(): Promise<void> {
  const env = processEnvironment();
  const { settings, config } = await loadConfiguration(env);
  const log = createLogger({ level: settings.logLevel });
  for (const notice of [...settings.notices, ...config.notices]) log.warn({}, notice);
  const { startApp } = await import('../app.js');
  const app = await startApp(settings, config, log).catch((error: unknown) => {
    throw error instanceof DatabaseLockedError ? new CliError(error.message, 2) : error;
  });
  log.info({ host: app.host, port: app.port, relayers: config.relayers.length }, 'listening');
  const reason = await Promise.race([untilSignalled(), app.broken]);
  if (typeof reason === 'string') log.info({ signal: reason }, 'stopping');
  else log.error({ err: reason }, 'the service cannot go on');
  await app.stop();
  log.info({}, 'stopped');
  if (typeof reason !== 'string') throw new CliError(reason.message);
}
