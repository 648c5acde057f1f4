import { spawn } from 'node:child_process';

/** How a command is run. */
interface CommandOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A program that runs longer is ended. */
  readonly timeoutMs?: number;
}

/** Runs a command; resolves to its output, and rejects with all that it wrote if it fails. */
export function runCommand(
  program: string,
  args: readonly string[],
  { cwd, env = {}, timeoutMs = 600_000 }: CommandOptions,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${program} ${args.join(' ')} ended with ${code ?? signal}:\n${lastLines(output)}\n${lastLines(errors)}`));
    });
  });
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
