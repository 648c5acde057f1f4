/** What callers send, over and over. */
export interface JobRequest {
  readonly protocol: 'http1' | 'grpc';
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Empty: none. */
  readonly body: Uint8Array;
}

/** One measurement of one server. */
export interface Job {
  readonly port: number;
  /** The server's process, whose CPU time is read. */
  readonly pid: number;
  readonly request: JobRequest;
  /** How many call at once; each waits for its answer before it calls again. */
  readonly callers: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** What one measurement found. */
export interface Sample {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** User and system time of the server's process; null where there is no /proc. */
  readonly serverCpuUs: number | null;
  /** Part of one core that the callers used. Near 1, it is they who are measured. */
  readonly clientCpu: number;
}

/** Callers in a closed loop. */
export interface Callers {
  start(): void;
  /** Resolves when the answers under way are in, and everything is closed. */
  stop(): Promise<void>;
}

/** Opens the connections of callers. `onAnswer` gets how long an answer took; the first that is no success is thrown by whoever made them. */
export type OpenCallers = (job: Job, onAnswer: (tookMs: number) => void, onFailure: (what: string) => void) => Promise<Callers>;
