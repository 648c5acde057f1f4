/** Writes a line of the command's result, for people and for pipes. */
export function writeLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Writes a line about the command itself: notes, progress and errors, which stay out of pipes. */
export function writeNote(line: string): void {
  process.stderr.write(`${line}\n`);
}
