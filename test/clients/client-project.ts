import { spawn } from 'node:child_process';

/** What a client needs to call the service. */
export interface ClientTarget {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** A folder of responses and events as the service writes them, which the client decodes without a call. */
  readonly recordsFolder: string;
}

/** A client as a team would write it: generated from what the service publishes, compiled, and run against it. */
export interface ClientProject {
  readonly name: string;
  /** The programs that must be on the PATH. */
  readonly programs: readonly string[];
  /** Generates and compiles in this empty folder. */
  build(folder: string, target: ClientTarget): Promise<void>;
  /** Runs the client; resolves to what it printed. */
  run(folder: string, target: ClientTarget): Promise<string>;
}

/** How a command is run. */
interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

const timeoutMs = 600_000;

/** Runs a command; resolves to its output, and rejects with all that it wrote if it fails. */
export function runCommand(program: string, args: readonly string[], { cwd, env = {} }: CommandOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${program} ${args.join(' ')} ended with ${code}:\n${lastLines(output)}\n${lastLines(errors)}`));
    });
  });
}

/** Returns the environment in which a client finds the service. */
export function environmentOf({ baseUrl, apiKey, recordsFolder }: ClientTarget): Readonly<Record<string, string>> {
  return { RELAYER_URL: baseUrl, RELAYER_API_KEY: apiKey, RECORDS_FOLDER: recordsFolder };
}

/** Returns the programs that are not on the PATH. */
export async function missingPrograms(programs: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    programs.map((program) =>
      runCommand('which', [program], { cwd: '.' }).then(
        () => true,
        () => false,
      ),
    ),
  );
  return programs.filter((_, index) => !found[index]);
}

function lastLines(text: string): string {
  return text.split('\n').slice(-150).join('\n');
}
