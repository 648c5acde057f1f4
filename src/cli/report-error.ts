import { CommanderError } from 'commander';
import { ConfigError } from '../config/problem.js';
import { CliError } from './cli-error.js';
import { writeNote } from './output.js';

/**
 * Tells the user what went wrong, without a stack, and returns the exit code: 0 (help was asked for), 1 (failed) or 2 (wrong usage or
 * configuration).
 */
export function reportError(error: unknown): 0 | 1 | 2 {
  // Commander has written its own sentence.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof ConfigError) {
    const { length } = error.problems;
    writeNote(`error: the configuration has ${length === 1 ? 'a problem' : `${length} problems`}:`);
    for (const { path, problem } of error.problems) writeNote(`  ${path}: ${problem}`);
    return 2;
  }
  writeNote(`error: ${sentenceOf(error)}`);
  return error instanceof CliError ? error.exitCode : 1;
}

/** One line: the error's message, then those of its causes. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return 'something went wrong';
  const own = error.message === '' && 'code' in error ? String(error.code) : error.message;
  const cause = error.cause instanceof Error ? `: ${sentenceOf(error.cause)}` : '';
  return `${own}${cause}`.replace(/\s*\n\s*/g, ' ');
}
