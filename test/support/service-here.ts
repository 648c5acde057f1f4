import { startApp } from '../../src/app/app.js';
import { loadConfiguration } from '../../src/cli/load-configuration.js';
import { openAuditLog } from '../../src/observability/audit-log.js';
import { createLogger } from '../../src/observability/logger.js';
import type { RunningService, ServiceHome } from './service.js';

/**
 * Runs the service of this home in the test's own process and keeps its log. A start takes milliseconds here and a second in a process of its own.
 * `startApp` makes everything that the service keeps in memory, so a stop and a start are a restart here too. It cannot be killed.
 */
export async function startServiceHere(home: ServiceHome): Promise<RunningService> {
  let output = '';
  const write = (line: string): void => {
    output += line;
  };
  const { settings, config } = await loadConfiguration(home.env);
  const plainLog = createLogger({ level: settings.logLevel, destination: { write } });
  const log = { ...plainLog, ...(await openAuditLog(settings, { write }, plainLog)) };
  for (const notice of [...settings.notices, ...config.notices]) log.warn({}, notice);
  const app = await startApp(settings, config, log);
  return {
    baseUrl: `http://127.0.0.1:${app.port}`,
    port: app.port,
    pid: process.pid,
    output: () => output,
    async stop() {
      await app.stop();
      return 0;
    },
    kill: () => Promise.reject(new Error('a service in the process of its test cannot be killed')),
  };
}
