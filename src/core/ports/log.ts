/** Structured log lines. They never contain a secret. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Who did what, whatever the log level is. */
export interface AuditLog {
  audit(fields: object): void;
}
