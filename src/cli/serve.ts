import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { weakSettings } from '../config/weak-settings.js';
import { backgroundTimers } from '../core/work/timers.js';
import { openLogs } from '../observability/open-logs.js';
import { checkPortIsFree } from './check-port-is-free.js';
import { loadConfiguration, settingsHelp } from './load-configuration.js';
import { CliError } from './terminal/cli-error.js';
import { untilSignalled } from './until-signalled.js';

/** How long the process may linger after the service has stopped. */
const lingerMs = 100;

/** `relayer serve`: runs the service until a signal stops it. */
export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('run the service until SIGTERM or Ctrl-C')
    .addHelpText(
      'after',
      '\nWrites logs as JSON lines to standard output. After SIGTERM, running calls can finish, and the process ends within 10 s. On SIGHUP, the service reads the TLS certificate again and opens AUDIT_LOG_FILE again.\n\nExample:\n  relayer serve',
    )
    .addHelpText('after', settingsHelp())
    .action(serve);
}

async function serve(): Promise<void> {
  // Without a listener, SIGHUP ends the process. While it starts and stops, there is no certificate to renew.
  let renewCertificate = async (): Promise<void> => undefined;
  let reopenAudit = (): void => undefined;
  process.on('SIGHUP', () => {
    reopenAudit();
    void renewCertificate();
  });
  // Without a listener, the signal opens the debugger, which can read every key.
  process.on('SIGUSR1', () => undefined);
  const { settings, config } = await loadConfiguration(processEnvironment());
  const log = await openLogs(settings);
  reopenAudit = log.auditHealth.reopen;
  for (const notice of [...settings.notices, ...config.notices, ...weakSettings(settings)]) log.warn({}, notice);
  await checkPortIsFree(settings);
  const { startApp } = await import('../app/app.js');
  const app = await startApp(settings, config, log);
  log.info({ host: app.host, port: app.port, relayers: app.relayers.length }, 'listening');
  renewCertificate = app.renewCertificate;
  const reason = await Promise.race([untilSignalled(), app.broken]);
  if (typeof reason === 'string') log.info({ signal: reason }, 'stopping');
  else log.error({ err: reason }, 'stopping: the service cannot continue');
  await app.stop();
  log.endAudit();
  log.info({}, 'stopped');
  // A request that cannot be aborted, such as an exporter's, must not keep the process.
  backgroundTimers.after(lingerMs, () => process.exit());
  if (typeof reason !== 'string') throw new CliError(reason.message);
}
