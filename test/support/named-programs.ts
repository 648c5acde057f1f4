/** A suite or a benchmark that a person starts by its name. */
export interface NamedProgram {
  /** What it does, as a sentence without a subject. */
  readonly does: string;
  /** How long it takes without options. */
  readonly takes: string;
  /** Its names and options, as a usage line writes them. */
  readonly options?: string;
  /** Arguments before those of the person. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Loads the program, which runs at once and reads its arguments from `process.argv`. */
  load(): Promise<unknown>;
}

/**
 * Runs the program that the first argument names, with the other arguments. Without a name, or with `--help`, prints all names; a name with `--help` prints
 * its options. An unknown name or option ends with exit code 2.
 * @param command the npm script, for the texts
 */
export async function runNamed(command: string, programs: Readonly<Record<string, NamedProgram>>): Promise<void> {
  const [name, ...args] = process.argv.slice(2);
  if (name === undefined || name === '--help') {
    process.stdout.write(listOf(command, programs));
    return;
  }
  const program = Object.hasOwn(programs, name) ? programs[name] : undefined;
  if (program === undefined) {
    process.stderr.write(`unknown name ${JSON.stringify(name)}\n\n${listOf(command, programs)}`);
    process.exitCode = 2;
    return;
  }
  if (args.includes('--help')) {
    process.stdout.write(`${usageOf(command, name, program)}\n\n${program.does} (${program.takes})\n`);
    return;
  }
  Object.assign(process.env, program.env);
  process.argv.splice(2, Infinity, ...(program.args ?? []), ...args);
  try {
    await program.load();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_'))) throw error;
    process.stderr.write(`${error.message}\n\n${usageOf(command, name, program)}\n`);
    // What the program has loaded can replace an exit code that is only set.
    process.exit(2);
  }
}

function usageOf(command: string, name: string, { options = '' }: NamedProgram): string {
  return `usage: npm run ${command} -- ${name} ${options}`.trimEnd();
}

function listOf(command: string, programs: Readonly<Record<string, NamedProgram>>): string {
  const rows = Object.entries(programs);
  const widthOf = (texts: readonly string[]): number => Math.max(...texts.map((text) => text.length));
  const [names, times] = [widthOf(rows.map(([name]) => name)), widthOf(rows.map(([, { takes }]) => takes))];
  const lines = rows.map(([name, { takes, does }]) => `  ${name.padEnd(names)}  ${takes.padEnd(times)}  ${does}`);
  return [`npm run ${command} -- <name> [options]`, '', ...lines, ''].join('\n');
}
