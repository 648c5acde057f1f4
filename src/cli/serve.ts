import type { Command } from 'commander';
import { processEnvironment } from '../config/environment.js';
import { packageVersion } from '../config/package-version.js';
import { ConfigError } from '../config/problem.js';
import { weakSettings } from '../config/weak-settings.js';
import { pause } from '../core/work/abort.js';
import { backgroundTimers } from '../core/work/timers.js';
import { createLogger } from '../observability/logger.js';
import { openLogs } from '../observability/open-logs.js';
import { checkPortIsFree } from './check-port-is-free.js';
import { loadConfiguration, settingsHelp } from './load-configuration.js';
import { takeStopSignals } from './stop-signals.js';
import { CliError } from './terminal/cli-error.js';

/** How long the process may linger after the service has stopped. */
const lingerMs = 100;

/** `relayer serve`: runs the service until a signal stops it. */
export function registerServe(program: Command): void {
  program
    .command('serve')
    .description('run the service until SIGTERM or Ctrl-C')
    .addHelpText(
      'after',
      '\nWrites logs as JSON lines to standard output. After SIGTERM, running calls can finish, and the process ends within SHUTDOWN_DELAY_SECONDS and 10 s; a second SIGTERM ends the delay. While PostgreSQL cannot be reached, the start waits for it. On SIGHUP, the service reads the TLS certificate again and opens AUDIT_LOG_FILE again.\n\nExample:\n  relayer serve',
    )
    .addHelpText('after', settingsHelp())
    .action(serve);
}

async function serve(): Promise<void> {
  // Before the service listens, it has no work that an end at once could cut off.
  let hasStarted = false;
  const signals = takeStopSignals(() => (hasStarted ? 1 : 0));
  // Without a listener, SIGHUP ends the process. While it starts and stops, there is no certificate to renew.
  let renewCertificate = async (): Promise<void> => undefined;
  let reopenAudit = (): void => undefined;
  process.on('SIGHUP', () => {
    reopenAudit();
    void renewCertificate();
  });
  // Without a listener, the signal opens the debugger, which can read every key.
  process.on('SIGUSR1', () => undefined);
  const { settings, log, app } = await start((reopen) => {
    reopenAudit = reopen;
  }).catch((error: unknown) => {
    logRefusal(error);
    throw error;
  });
  log.info({ version: packageVersion(), host: app.host, port: app.port, relayers: app.relayers.length }, 'listening');
  renewCertificate = app.renewCertificate;
  hasStarted = true;
  const reason = await Promise.race([signals.next(), app.broken]);
  if (typeof reason === 'string') {
    const { shutdownDelaySeconds: delaySeconds } = settings;
    log.info({ signal: reason, delaySeconds }, 'stopping');
    app.leave();
    if (delaySeconds > 0) await Promise.race([pause(delaySeconds * 1000), signals.next(), app.broken]);
    signals.endAtOnce();
  } else log.error({ err: reason }, 'stopping: the service cannot continue');
  await app.stop();
  log.endAudit();
  log.info({}, 'stopped');
  // A request that cannot be aborted, such as an exporter's, must not keep the process.
  backgroundTimers.after(lingerMs, () => process.exit());
  if (typeof reason !== 'string') throw new CliError(reason.message);
}

/** Starts the service. `onAudit` gets what opens the audit file again. */
async function start(onAudit: (reopen: () => void) => void) {
  const { settings, config } = await loadConfiguration(processEnvironment());
  const log = await openLogs(settings);
  onAudit(log.auditHealth.reopen);
  for (const notice of [...settings.notices, ...config.notices, ...weakSettings(settings)]) log.warn({}, notice);
  await checkPortIsFree(settings);
  const { startApp } = await import('../app/app.js');
  return { settings, log, app: await startApp(settings, config, log) };
}

/** Writes the JSON line of a refused start, for programs that read only the log; standard error has the same in words. */
function logRefusal(error: unknown): void {
  const problems = error instanceof ConfigError ? error.problems.map(({ path, problem }) => `${path}: ${problem}`) : undefined;
  createLogger({ level: 'error' }).error({ ...(problems === undefined ? { err: error } : { problems }) }, 'the service cannot start');
}
