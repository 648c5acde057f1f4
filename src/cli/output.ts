/** Writes a line of the command's result to standard output. */
export function writeLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a note, progress or an error to standard error, which stays out of pipes. */
export function writeNote(line: string): void {
  process.stderr.write(`${line}\n`);
}
