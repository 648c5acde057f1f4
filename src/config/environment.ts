/** Environment variables, injected so that tests can set them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The process's own environment: the only place that reads it. */
export function processEnvironment(): Environment {
  return process.env;
}
