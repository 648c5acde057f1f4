import type { DestinationStream } from 'pino';
import { type AuditLog, healthWithoutFile, type Log } from '../core/work/log.js';
import { openAuditFile } from './audit-file.js';
import { flatFieldsText, isoTimeText } from './flat-line.js';
import { redactedFields } from './redacted-fields.js';

/** Where audit lines are written. */
export interface AuditSettings {
  /** Null: only in the log. */
  readonly auditLogFile: string | null;
  /** True: in the log too, if there is a file. */
  readonly auditLogStdout: boolean;
  readonly auditFail: 'open' | 'closed';
}

/**
 * Opens the audit log: JSON lines with the level `audit`, which no log level switches off, in `destination`, in the file, or in both.
 * Throws if the file cannot be opened, or is a pipe.
 */
export async function openAuditLog(
  { auditLogFile, auditLogStdout, auditFail }: AuditSettings,
  destination: DestinationStream,
  log: Pick<Log, 'error' | 'warn'>,
): Promise<AuditLog> {
  const file = auditLogFile === null ? null : await openAuditFile(auditLogFile, { failsClosed: auditFail === 'closed', log });
  const isAuditInLog = file === null || auditLogStdout;
  return {
    isAuditInLog,
    auditHealth: file ?? healthWithoutFile,
    audit(fields) {
      const start = `{"level":"audit","time":"${isoTimeText(Date.now())}"`;
      const text = flatFieldsText(fields) ?? `,${JSON.stringify(redactedFields(fields)).slice(1, -1)}`;
      const line = `${start}${text},"msg":"audit"}\n`;
      if (isAuditInLog) destination.write(line);
      file?.write(line);
    },
  };
}
