import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { apiKey } from './service.js';

/** An event as a client of the HTML standard reads it. */
export interface ServerSentEvent {
  readonly event: string;
  /** Undefined: the event has none. */
  readonly id: string | undefined;
  readonly data: string;
}

/** The answer to a request for events. */
export interface EventAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly events: AsyncGenerator<ServerSentEvent, void, void>;
  /** The whole body of an answer without events. */
  text(): Promise<string>;
  /** Leaves. */
  cancel(): void;
}

interface EventRequest {
  readonly method?: 'GET' | 'HEAD';
  readonly version?: '1.1' | '2';
  readonly headers?: Readonly<Record<string, string>>;
  /** The key; default: the bootstrap key. */
  readonly key?: string;
}

/** Asks a service on the loopback address for events, over HTTP/1.1 or HTTP/2, each on a new connection; by TLS with any certificate. */
export async function openEvents(
  baseUrl: string,
  path: string,
  { method = 'GET', version = '1.1', headers = {}, key = apiKey }: EventRequest = {},
): Promise<EventAnswer> {
  const all = { authorization: `Bearer ${key}`, ...headers };
  if (version === '1.1') {
    const url = new URL(path, baseUrl);
    const options = { method, headers: all, agent: false, rejectUnauthorized: false } as const;
    const request = (url.protocol === 'https:' ? httpsRequest(url, options) : httpRequest(url, options)).end();
    const [response] = await once(request, 'response');
    return answerOf(response.statusCode, response.headers, response, () => request.on('error', () => undefined).destroy());
  }
  const session = connect(baseUrl, { rejectUnauthorized: false }).on('error', () => undefined);
  const stream = session.request({ ':method': method, ':path': path, ...all }).end();
  const [head] = await once(stream, 'response');
  stream.once('close', () => session.close());
  return answerOf(head[':status'], head, stream, () => session.destroy());
}

function answerOf(status: number, headers: IncomingHttpHeaders, body: Readable, cancel: () => void): EventAnswer {
  const text = async () => (await body.setEncoding('utf8').toArray()).join('');
  return { status, headers, events: eventsIn(body), text, cancel };
}

async function* eventsIn(body: Readable): AsyncGenerator<ServerSentEvent, void, void> {
  let unread = '';
  for await (const chunk of body.setEncoding('utf8')) {
    const blocks = (unread + chunk).split('\n\n');
    unread = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
      yield { event: fields.get('event') ?? 'message', id: fields.get('id'), data: fields.get('data') ?? '' };
    }
  }
  if (unread !== '') throw new Error(`the stream ended in an event: ${unread}`);
}
