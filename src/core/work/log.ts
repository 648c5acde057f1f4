import type { AuditLine } from './audit-line.js';

/** Structured log lines. They never contain a secret. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

const nothing = () => undefined;

/** A log that keeps nothing. */
export const noLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Records who did what, at every log level. */
export interface AuditLog {
  audit(fields: object): void;
  /** True if the lines are in the log, with or without a file of their own. */
  readonly isAuditInLog: boolean;
  readonly auditHealth: AuditHealth;
  /** Calls `keep` with each line from now on, before `audit` returns. One function is called: the last one. */
  keepAuditLines(keep: (line: AuditLine) => void): void;
}

/** Whether audit lines reach their file. */
export interface AuditHealth {
  /** Why lines cannot be written now; null: they can. */
  problem(): string | null;
  /** True while nothing may be written or signed, because no audit line would show it. */
  refuses(): boolean;
  /** Lines that were lost since the start. */
  lostLines(): number;
  /** Closes the file and opens it again by its name. */
  reopen(): void;
}

/** The health of an audit log that has no file. */
export const healthWithoutFile: AuditHealth = { problem: () => null, refuses: () => false, lostLines: () => 0, reopen: () => undefined };
