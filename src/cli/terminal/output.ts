/** Writes a line of the command's result to standard output. */
export function writeLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a line of the command's result, and resolves when standard output has it. Rejects if it cannot be written, as on a full disk. */
export function deliverLine(line: string): Promise<void> {
  const { stdout } = process;
  return new Promise((resolve, reject) => {
    // The error also comes as an event, which would end the process.
    stdout.once('error', reject);
    stdout.write(`${line}\n`, (error) => (error ? reject(error) : resolve()));
  });
}

/** Writes a note, progress or an error to standard error, which stays out of pipes. */
export function writeNote(line: string): void {
  process.stderr.write(`${line}\n`);
}
