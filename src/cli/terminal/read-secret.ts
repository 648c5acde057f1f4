import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { processEnvironment, shownVariable } from '../../config/environment.js';
import { CliError } from './cli-error.js';

interface SecretRequest {
  /** `passphrase` or `private key`. */
  readonly what: string;
  /** The environment variable that holds the secret; undefined: read it from the terminal or standard input. */
  readonly envName: string | undefined;
  /** True: ask twice on a terminal. */
  readonly twice: boolean;
}

/** Larger than any key and passphrase. */
const maxPipedCharacters = 64 * 1024;

/**
 * Returns a function that reads secrets, never from the command line. A secret comes from its environment variable, if one is named.
 * Otherwise it comes from the terminal without echo, or, if standard input is a pipe or a file, from its next line. Throws CliError if
 * there is no secret.
 */
export function createSecretReader(): (request: SecretRequest) => Promise<string> {
  let piped: string[] | undefined;

  async function nextPipedLine(what: string): Promise<string> {
    piped ??= await pipedLines();
    const line = piped.shift();
    if (line === undefined || line === '') {
      throw new CliError(`${what} is missing; name its environment variable or write it to standard input`, 2);
    }
    return line;
  }

  return async ({ what, envName, twice }) => {
    if (envName !== undefined) return secretFromEnvironment(what, envName);
    if (!process.stdin.isTTY) return nextPipedLine(what);
    const secret = await hiddenPrompt(`Enter ${what}: `);
    if (secret === '') throw new CliError(`${what} is empty`, 2);
    if (twice && (await hiddenPrompt(`Repeat ${what}: `)) !== secret) throw new CliError(`the two entries of the ${what} differ`, 2);
    return secret;
  };
}

/** Returns the secret in a variable. Throws CliError. */
export function secretFromEnvironment(what: string, envName: string): string {
  const secret = processEnvironment()[envName];
  if (secret !== undefined && secret !== '') return secret;
  throw new CliError(`the environment variable${shownVariable(envName)} for the ${what} is not set`, 2);
}

async function pipedLines(): Promise<string[]> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk;
    if (text.length > maxPipedCharacters)
      throw new CliError(`standard input is too long; it may have at most ${maxPipedCharacters} characters`, 2);
  }
  return text.split(/\r?\n/);
}

/** Reads a line from the terminal without showing it. Throws CliError if the user presses Ctrl-C or Ctrl-D. */
function hiddenPrompt(question: string): Promise<string> {
  // The line editor echoes the input to its output, so this output discards everything.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  process.stderr.write(question);
  return new Promise((resolve, reject) => {
    lines.once('line', (line) => {
      resolve(line);
      lines.close();
    });
    lines.once('SIGINT', () => lines.close());
    lines.once('close', () => {
      process.stderr.write('\n');
      reject(new CliError('interrupted; nothing was written'));
    });
  });
}
