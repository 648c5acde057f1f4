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
  /** True if the lines are in the log, not in a file of their own. */
  readonly isAuditInLog: boolean;
}
