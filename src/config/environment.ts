/** Environment variables, injected so that tests can set them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The process's own environment: the only place that reads it. */
export function processEnvironment(): Environment {
  return process.env;
}

/**
 * Returns the name of a variable for an error, after a space; nothing if it might be a secret that was given instead of a name. By
 * convention, names are in capitals with an underscore, or short words in capitals, which the passphrases, seeds and keys that people mix
 * up with them are not.
 */
export function shownVariable(name: string): string {
  return /^[A-Z][A-Z0-9]*_[A-Z0-9_]+$|^[A-Z]{1,10}$/.test(name) ? ` ${name}` : '';
}
