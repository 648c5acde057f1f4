import type { DestinationStream } from 'pino';
import { type AuditLine, auditSubjects } from '../core/work/audit-line.js';
import { type AuditLog, healthWithoutFile, type Log } from '../core/work/log.js';
import { backgroundTimers } from '../core/work/timers.js';
import {
  type AuditChain,
  anchorText,
  canBeUnsigned,
  chainKeyFrom,
  chainMessages,
  createAuditChain,
  lineHash,
  linkOf,
  signedAfterMs,
} from './audit-chain.js';
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
  /** Signs the chain of lines. */
  readonly storageEncryptionKey: string;
}

/** An audit log that this process writes. */
export interface OpenAuditLog extends AuditLog {
  /** Signs the last lines. Call it when no line follows; a line that does follow is in the chain nevertheless. */
  endAudit(): void;
}

/**
 * Opens the audit log: JSON lines with the level `audit`, which no log level switches off, in `destination`, in the file, or in both, in
 * one chain. Throws if the file cannot be opened, or is a pipe.
 */
export async function openAuditLog(
  { auditLogFile, auditLogStdout, auditFail, storageEncryptionKey }: AuditSettings,
  destination: DestinationStream,
  log: Pick<Log, 'error' | 'info' | 'warn'>,
): Promise<OpenAuditLog> {
  const file = auditLogFile === null ? null : await openAuditFile(auditLogFile, { failsClosed: auditFail === 'closed', log });
  const isAuditInLog = file === null || auditLogStdout;
  const key = chainKeyFrom(storageEncryptionKey);
  const chain = createAuditChain(key);
  /** The time of the first line after the last signed one; null: there is none. */
  let unsignedFromMs: number | null = null;
  let stopTimer = (): void => undefined;
  let keep: ((line: AuditLine) => void) | null = null;

  function write(line: string): void {
    if (isAuditInLog) destination.write(`${line}\n`);
    file?.write(`${line}\n`);
  }

  function signLines(msg: string): void {
    stopTimer();
    unsignedFromMs = null;
    write(chain.linkSigned(msg, { lost: file?.lostLines() ?? 0 }));
    // Kept apart from the file, this shows lines that were cut off its end.
    if (!isAuditInLog) log.info({ last: chain.anchor() }, chainMessages.head);
  }

  write(chain.linkSigned(chainMessages.begins, { publicKey: key.publicKey, after: anchorOf(file?.lastLineBefore ?? null) }));
  return {
    isAuditInLog,
    auditHealth: file ?? healthWithoutFile,
    audit(fields) {
      const ms = Date.now();
      // The timer may be late, and the clock may have been set.
      if (unsignedFromMs !== null && !canBeUnsigned(unsignedFromMs, ms)) signLines(chainMessages.head);
      const text = flatFieldsText(fields) ?? `,${JSON.stringify(redactedFields(fields)).slice(1, -1)}`;
      const line = chain.link(`{"level":"audit","time":"${isoTimeText(ms)}"${text},"msg":"audit"`);
      write(line);
      if (keep !== null) keep({ ...auditSubjects(fields as Readonly<Record<string, unknown>>), ...placeOf(chain), atMs: ms, text: line });
      if (unsignedFromMs !== null) return;
      unsignedFromMs = ms;
      stopTimer = backgroundTimers.after(signedAfterMs, () => signLines(chainMessages.head));
    },
    keepAuditLines(keepNow) {
      keep = keepNow;
    },
    endAudit: () => signLines(chainMessages.ends),
  };
}

function placeOf(ownChain: AuditChain): Pick<AuditLine, 'chain' | 'number'> {
  const { chain, seq } = ownChain.position();
  return { chain, number: seq };
}

/** What the first line of a chain says about the last line of another. */
function anchorOf(line: string | null): string | null {
  const link = line === null ? null : linkOf(line);
  return line === null || link === null ? null : anchorText(link.chain, link.seq, lineHash(line));
}
