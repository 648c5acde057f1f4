/** The configuration files of an instance. */
export interface ConfigFiles {
  /** A keyed hash of each file, by its name. */
  readonly hashes: ReadonlyMap<string, string>;
  /** The `revision` of the configuration file: files take the place of others only if theirs is higher. */
  readonly revision: number;
}

/** Returns the names of the files that differ. */
export function differingFiles({ hashes: own }: ConfigFiles, { hashes: others }: ConfigFiles): readonly string[] {
  return [...new Set([...own.keys(), ...others.keys()])].filter((name) => own.get(name) !== others.get(name));
}

/**
 * True if these files come before others, in an order that all instances compute alike. Different files with one revision can only meet if
 * their instances started at the same moment.
 */
export function comesBefore(files: ConfigFiles, others: ConfigFiles): boolean {
  if (files.revision !== others.revision) return files.revision > others.revision;
  return textOf(files) > textOf(others);
}

/** Returns the files that all instances work with; undefined: none does. `all`: the files of the instances that share. */
export function filesInForce(all: readonly ConfigFiles[]): ConfigFiles | undefined {
  return all.reduce<ConfigFiles | undefined>(
    (first, files) => (first === undefined || comesBefore(files, first) ? files : first),
    undefined,
  );
}

function textOf({ hashes }: ConfigFiles): string {
  return JSON.stringify([...hashes].sort());
}
