import { type buildConnector, Client, type Dispatcher } from 'undici';
import { type AskProcess, ProcessFailure } from '../core/ports/plugin-process.js';
import { percentDecoded } from '../core/text/safe-text.js';
import { pluginAnswerFrom } from './plugin-answer.js';

/** The maximum size of an answer, in bytes. */
const maxAnswerBytes = 1024 * 1024;
const connectMs = 5_000;
/** The time limit of a call is its caller's signal. */
const options = { connectTimeout: connectMs, headersTimeout: 0, bodyTimeout: 0, maxHeaderSize: 16_384 };

/** Asks the processes of plugins until it is closed. */
export interface ProcessClient {
  readonly ask: AskProcess;
  /** Cuts off the calls that run. */
  close(): Promise<void>;
}

/** Creates the client. `connectorFor`: the guarded connector to a URL that is not the operator's own; undefined: it is. */
export function createProcessClient(connectorFor: (url: string) => buildConnector.connector | undefined): ProcessClient {
  const open = new Set<Client>();

  return {
    async ask(plugin, { method, url, headers, body }, { signal, takeBytes }) {
      signal.throwIfAborted();
      const connect = connectorFor(plugin.url);
      // A connection for each call: a server may close an idle one when the next call takes it, and no call can be sent twice.
      const client = new Client(url.origin, connect === undefined ? options : { ...options, connect });
      open.add(client);
      try {
        const answer = await answered(
          client.request({
            path: url.pathname + url.search,
            method,
            headers: Object.fromEntries([...basicAuthOf(url), ...headers.map(({ name, value }) => [name, value])]),
            body: method === 'POST' ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : null,
            signal,
          }),
          signal,
        );
        return pluginAnswerFrom(plugin, {
          status: answer.statusCode,
          headers: new Map(Object.entries(answer.headers).map(([name, value]) => [name, [value ?? []].flat().join(', ')])),
          body: await bodyOf(answer.body, signal, takeBytes),
        });
      } finally {
        open.delete(client);
        await client.destroy();
      }
    },
    async close() {
      await Promise.all([...open].map((client) => client.destroy()));
    },
  };
}

/** The user name of a URL, as HTTP sends it. */
function basicAuthOf({ username, password }: URL): readonly (readonly [name: string, value: string])[] {
  if (username === '' && password === '') return [];
  const plain = [username, password].map(percentDecoded).join(':');
  return [['authorization', `Basic ${Buffer.from(plain).toString('base64')}`]];
}

async function answered(request: Promise<Dispatcher.ResponseData>, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  try {
    return await request;
  } catch (error) {
    signal.throwIfAborted();
    throw new ProcessFailure(whyOf(error), { cause: error });
  }
}

async function bodyOf(body: AsyncIterable<Buffer>, signal: AbortSignal, takeBytes: (bytes: number) => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const source = body[Symbol.asyncIterator]();
  for (;;) {
    const next = await source.next().catch((error: unknown) => {
      signal.throwIfAborted();
      throw new ProcessFailure('broke off its answer', { cause: error });
    });
    if (next.done === true) return Buffer.concat(chunks);
    bytes += next.value.length;
    if (bytes > maxAnswerBytes) throw new ProcessFailure(`gave an answer of more than ${maxAnswerBytes} bytes`);
    takeBytes(next.value.length);
    chunks.push(next.value);
  }
}

/** Says no more than what kind of failure it was: messages name addresses behind the service. */
function whyOf(error: unknown): string {
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  const code = first instanceof Error && 'code' in first ? first.code : undefined;
  if (code === 'TARGET_REFUSED') return 'has a URL whose address is not allowed';
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE') return 'broke off the connection before it answered';
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return 'gave an answer whose headers are too large';
  if (first instanceof Error && first.name === 'HTTPParserError') return 'gave an answer that is not HTTP';
  return 'is not reachable';
}
