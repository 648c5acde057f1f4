import { once } from 'node:events';
import { connect as connectHttp2, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import { connect, type Socket } from 'node:net';

/** Sends bytes on a new connection and resolves with everything received when it closes. */
export async function sendRaw(port: number, text: string): Promise<string> {
  const socket = await openSocket(port);
  const answer = readAll(socket);
  socket.write(text, 'latin1');
  return answer;
}

/** A connection to the loopback address. */
export async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Resolves with everything that a connection receives until it closes. */
export function readAll(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      received += chunk;
    });
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(received));
  });
}

/** One answer of HTTP/2. */
export interface Http2Answer {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends one request over HTTP/2 on a new connection. `isOpen`: its body does not end. */
export function requestHttp2(
  origin: string,
  headers: OutgoingHttpHeaders,
  body?: Uint8Array,
  { isOpen = false, ...options }: { ca?: string; isOpen?: boolean } = {},
): Promise<Http2Answer> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(origin, options);
    session.on('error', reject);
    session.on('close', () => reject(new Error('the connection was closed without an answer')));
    const stream = session.request(headers, { endStream: body === undefined });
    let answerHeaders: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    stream.on('response', (received) => {
      answerHeaders = received;
    });
    stream.on('trailers', (received) => {
      trailers = received;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    // Not 'close': if the server answers before it has read the body, Node's client never closes the stream.
    stream.on('end', () => {
      session.destroy();
      resolve({ headers: answerHeaders, trailers, body: Buffer.concat(chunks) });
    });
    if (isOpen) stream.write(body);
    else if (body !== undefined) stream.end(body);
  });
}
