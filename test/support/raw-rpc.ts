import { ConnectError } from '@connectrpc/connect';
import { endStreamFromJson, errorFromJson } from '@connectrpc/connect/protocol-connect';
import { findTrailerError } from '@connectrpc/connect/protocol-grpc';
import { trailerParse } from '@connectrpc/connect/protocol-grpc-web';
import { type Http2Answer, requestHttp2 } from './raw-http.js';
import { type RpcAnswer, rpcAnswerOf } from './rpc-askers.js';
import { apiKey } from './service.js';

/** One message in the envelope of gRPC, gRPC-Web and Connect's streams. */
export function envelope(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** The content of the envelopes in a body, by their flags. */
export function envelopesIn(body: Buffer): { readonly flags: number; readonly content: Buffer }[] {
  const all = [];
  for (let at = 0; at < body.length; ) {
    const length = body.readUInt32BE(at + 1);
    all.push({ flags: body.readUInt8(at), content: body.subarray(at + 5, at + 5 + length) });
    at += 5 + length;
  }
  return all;
}

/** Sends an RPC by HTTP/2 unchanged. `isOpen`: its body does not end. */
export function rawRpc(
  baseUrl: string,
  path: string,
  contentType: string,
  body: Uint8Array,
  headers: Record<string, string> = {},
  options: { isOpen?: boolean } = {},
): Promise<Http2Answer> {
  const always = { 'content-type': contentType, authorization: `Bearer ${apiKey}`, te: 'trailers' };
  return requestHttp2(baseUrl, { ':method': 'POST', ':path': path, ...always, ...headers }, body, options);
}

/** The error of an answer, whichever protocol it is in. */
export function errorIn({ headers, trailers, body }: Http2Answer): RpcAnswer {
  const type = String(headers['content-type']);
  const entries = Object.entries({ ...headers, ...trailers }).flatMap(([name, value]): [string, string][] =>
    name.startsWith(':') ? [] : [[name, String(value)]],
  );
  if (type.startsWith('application/grpc-web')) {
    const decoded = type.startsWith('application/grpc-web-text') ? Buffer.from(body.toString(), 'base64') : body;
    return rpcAnswerOf(findTrailerError(trailerParse(envelopesIn(decoded).at(-1)?.content ?? new Uint8Array())) ?? new ConnectError(''));
  }
  if (type.startsWith('application/grpc')) return rpcAnswerOf(findTrailerError(new Headers(entries)) ?? new ConnectError(''));
  if (type.startsWith('application/connect+')) {
    return rpcAnswerOf(endStreamFromJson(envelopesIn(body).at(-1)?.content ?? new Uint8Array()).error ?? new ConnectError(''));
  }
  return rpcAnswerOf(errorFromJson(JSON.parse(body.toString()), undefined, new ConnectError('')));
}
