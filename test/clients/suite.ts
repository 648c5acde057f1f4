/** A client as a team would write it: made from what the service publishes, compiled, and run against it. */
export interface Client {
  /** How the command line chooses it. */
  readonly name: string;
  /** The programs that must be on the PATH. */
  readonly programs: readonly string[];
}

/** Clients that run against the same services. */
export interface ClientSuite<C extends Client> {
  readonly clients: readonly C[];
  /** Starts the services. */
  start(): Promise<RunningSuite<C>>;
}

/** The services of a suite. */
export interface RunningSuite<C extends Client> {
  /** Makes a client and runs it; resolves to remarks for the log, and rejects if it fails. */
  check(client: C): Promise<readonly string[]>;
  stop(): Promise<void>;
}
