/** The request that callers repeat. */
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
  /** The number of callers; each waits for its answer before it calls again. */
  readonly callers: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

/** The result of one measurement. */
export interface Sample {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** User and system time of the server's process; null if there is no /proc. */
  readonly serverCpuUs: number | null;
  /** Part of one core that the callers used. Near 1, the callers are the limit. */
  readonly clientCpu: number;
}

/** Callers in a closed loop. */
export interface Callers {
  start(): void;
  /** Resolves when all outstanding answers have arrived and everything is closed. */
  stop(): Promise<void>;
}

/** Opens the connections of callers. `onAnswer` gets the duration of an answer. The function that opened them throws for the first answer that is not a success. */
export type OpenCallers = (job: Job, onAnswer: (tookMs: number) => void, onFailure: (what: string) => void) => Promise<Callers>;
