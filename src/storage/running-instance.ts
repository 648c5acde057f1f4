/** A process that uses a database, or waits for it. */
export interface RunningInstance {
  /** False: a standby. */
  readonly isActive: boolean;
  /** Null, like the host and the process id: it is an earlier version, which does not report them. */
  readonly version: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  /** When it became active or began to wait, in milliseconds since the epoch. */
  readonly sinceMs: number;
  /** When the database last heard from it. */
  readonly seenAtMs: number;
}
