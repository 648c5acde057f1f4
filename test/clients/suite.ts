/** A client as a team would write it: made from the published definitions, compiled, and run against the service. */
export interface Client {
  /** Its name on the command line. */
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
  /** Makes a client and runs it; resolves to notes for the log, and rejects if it fails. */
  check(client: C): Promise<readonly string[]>;
  stop(): Promise<void>;
}
