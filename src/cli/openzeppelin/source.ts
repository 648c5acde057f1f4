import { readFile, stat } from 'node:fs/promises';
import { fileProblem } from '../../config/json-file.js';
import { outsideText, secretPartsOf } from '../../core/text/safe-text.js';
import { withoutSecrets } from '../../core/text/without-secrets.js';
import { CliError } from '../terminal/cli-error.js';

/** A key of OpenZeppelin Relayer's Redis and the text under it. */
export type StoredText = readonly [key: string, text: string];

const connectTimeoutMs = 10_000;
/** How long Redis may be silent. */
const silenceTimeoutMs = 30_000;
const keysPerScan = 1_000;
const textsPerRead = 100;
/** A dump has one short line per transaction, so this is enough for millions. */
const maxDumpBytes = 256 * 1024 * 1024;

/**
 * Reads from Redis the texts of the keys that begin with `prefix` and that `isWanted` accepts, some of them twice. Reads only. Throws
 * CliError, which never shows the URL's password.
 */
export async function* textsFromRedis(url: string, prefix: string, isWanted: (key: string) => boolean): AsyncGenerator<StoredText> {
  if (!URL.canParse(url) || !/^rediss?:$/.test(new URL(url).protocol))
    throw new CliError('cannot parse the URL of Redis; expected redis://user:password@host:6379/0, or rediss:// for TLS', 2);
  // A package in CommonJS: only its default export has all names, bundled or not.
  const { createClient } = (await import('@redis/client')).default;
  const client = createClient({
    url,
    socket: { connectTimeout: connectTimeoutMs, socketTimeout: silenceTimeoutMs, reconnectStrategy: false },
  });
  // The call that fails reports the error.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const pattern = `${prefix.replace(/[\\*?[\]]/g, '\\$&')}*`;
    for await (const found of client.scanIterator({ MATCH: pattern, COUNT: keysPerScan })) {
      const keys = found.filter(isWanted);
      for (let at = 0; at < keys.length; at += textsPerRead) {
        const some = keys.slice(at, at + textsPerRead);
        const texts = await client.mGet(some);
        // A key that is not a text, or that was deleted since the scan, has none.
        yield* some.flatMap((key, index): StoredText[] => (typeof texts[index] === 'string' ? [[key, texts[index]]] : []));
      }
    }
  } catch (error) {
    const { host } = new URL(url);
    const message = error instanceof Error && error.message !== '' ? error.message : String((error as NodeJS.ErrnoException).code);
    throw new CliError(`cannot read Redis at ${host}: ${outsideText(withoutSecrets(message, secretPartsOf(new URL(url))))}`);
  } finally {
    client.destroy();
  }
}

/** Reads a dump: each line is a JSON array of a key and its text. Throws CliError, which never shows a line. */
export async function* textsFromDump(file: string): AsyncGenerator<StoredText> {
  const bytes = await bytesOf(file);
  if (bytes.subarray(0, 5).toString('latin1') === 'REDIS')
    throw new CliError(`${file} is a binary Redis dump (RDB); start a redis-server on it and use --redis, or make a dump of JSON lines`, 2);
  for (const [index, line] of bytes.toString('utf8').split('\n').entries()) {
    if (line.trim() === '') continue;
    const pair = pairFromLine(line);
    if (pair === undefined) throw new CliError(`${file} line ${index + 1} must be a JSON array of a key and its text`, 2);
    yield pair;
  }
}

async function bytesOf(file: string): Promise<Buffer> {
  try {
    if ((await stat(file)).size <= maxDumpBytes) return await readFile(file);
  } catch (error) {
    throw new CliError(`${file} ${fileProblem(error)}`, 2);
  }
  throw new CliError(`${file} is too large; it may have at most ${maxDumpBytes} bytes`, 2);
}

function pairFromLine(line: string): StoredText | undefined {
  try {
    const pair: unknown = JSON.parse(line);
    if (!Array.isArray(pair) || pair.length !== 2) return undefined;
    const [key, text]: unknown[] = pair;
    return typeof key === 'string' && typeof text === 'string' ? [key, text] : undefined;
  } catch {
    return undefined;
  }
}
