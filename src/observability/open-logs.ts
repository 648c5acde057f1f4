import type { Log } from '../core/work/log.js';
import { type AuditSettings, type OpenAuditLog, openAuditLog } from './audit-log.js';
import { createLogger, type LogLevel } from './logger.js';
import { standardOutput } from './standard-output.js';

/** Opens the log and the audit log, with one output, so that the lines of a turn leave in one write. Throws as `openAuditLog` does. */
export async function openLogs(settings: AuditSettings & { readonly logLevel: LogLevel }): Promise<Log & OpenAuditLog> {
  const destination = standardOutput();
  const log = createLogger({ level: settings.logLevel, destination });
  return { ...log, ...(await openAuditLog(settings, destination, log)) };
}
