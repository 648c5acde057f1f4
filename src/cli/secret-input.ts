import { processEnvironment } from '../config/environment.js';
import { CliError } from './cli-error.js';
import { hiddenPrompt } from './hidden-prompt.js';

/** What to ask for, and where it may be. */
export interface SecretRequest {
  /** `passphrase`, `private key`. */
  readonly what: string;
  /** The environment variable that holds it; undefined: it is asked for. */
  readonly envName: string | undefined;
  /** True: on a terminal it is asked twice. */
  readonly twice: boolean;
}

/** Reads secrets, never from the command line. */
export interface SecretInput {
  /** Throws CliError when there is none. */
  read(request: SecretRequest): Promise<string>;
}

/** More than any key and passphrase. */
const pipedLimit = 64 * 1024;

/**
 * Secrets come from the environment variable that is named, else from the terminal without echo, else, when standard input is a pipe or a
 * file, from its next line.
 */
export function createSecretInput(): SecretInput {
  let piped: string[] | undefined;

  async function nextPipedLine(what: string): Promise<string> {
    piped ??= await pipedLines();
    const line = piped.shift();
    if (line === undefined || line === '')
      throw new CliError(`no ${what} was given: name its environment variable, or write it to standard input`, 2);
    return line;
  }

  async function read({ what, envName, twice }: SecretRequest): Promise<string> {
    if (envName !== undefined) return secretOfEnvironment(what, envName);
    if (!process.stdin.isTTY) return nextPipedLine(what);
    const secret = await hiddenPrompt(`${what}: `);
    if (secret === '') throw new CliError(`no ${what} was given`, 2);
    if (twice && (await hiddenPrompt(`${what} again: `)) !== secret) throw new CliError(`the two are not the same ${what}`, 2);
    return secret;
  }

  return { read };
}

function secretOfEnvironment(what: string, envName: string): string {
  const secret = processEnvironment()[envName];
  // Its name is not repeated: somebody may have put the secret itself there.
  if (secret === undefined || secret === '') throw new CliError(`the environment variable for the ${what} is not set`, 2);
  return secret;
}

async function pipedLines(): Promise<string[]> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk;
    if (text.length > pipedLimit) throw new CliError('too much was written to standard input', 2);
  }
  return text.split(/\r?\n/);
}
