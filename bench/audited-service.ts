/*
 * The service as `relayer serve` runs it, without `MEASURED_AUDIT=none`; with it, nothing is audited, and calls that write have the line of
 * all requests instead.
 */
import { startApp } from '../src/app/app.js';
import { compileApi } from '../src/app/open-api.js';
import { loadConfiguration } from '../src/cli/load-configuration.js';
import { openLogs } from '../src/observability/open-logs.js';

const { settings, config } = await loadConfiguration(process.env);
const log = await openLogs(settings);
const isAudited = process.env.MEASURED_AUDIT !== 'none';
const app = await startApp(
  settings,
  config,
  isAudited ? log : { ...log, audit: () => undefined, isAuditInLog: false },
  isAudited ? {} : { compileApi: withoutAudit },
);
process.once('SIGTERM', () => void app.stop().then(() => process.exit()));
log.info({ port: app.port, relayers: app.relayers.length }, 'listening');

/** The audit has a line for each method that writes. */
function withoutAudit(): ReturnType<typeof compileApi> {
  const compiled = compileApi();
  return { ...compiled, plans: compiled.plans.map((plan) => ({ ...plan, writes: false })) };
}
