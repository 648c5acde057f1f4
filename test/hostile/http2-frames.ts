import { keyLine } from './valid-requests.js';

/** What a caller's side of HTTP/2 begins with, before its SETTINGS. */
export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Types of frames. */
export const type = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  push: 5,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const;

/** Flags of frames; `ack` is that of SETTINGS and PING. */
export const flag = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** One frame. `length`, if given, is a false length of the payload. */
export function frame(kind: number, flags: number, stream: number, payload: Uint8Array | readonly number[] = [], length?: number): Buffer {
  const body = Buffer.from(payload);
  const head = Buffer.alloc(9);
  head.writeUIntBE(length ?? body.length, 0, 3);
  head.writeUInt8(kind, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream >>> 0, 5);
  return Buffer.concat([head, body]);
}

/** A SETTINGS frame of these values by their ids. */
export function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(pairs.length * 6);
  pairs.forEach(([id, value], index) => {
    payload.writeUInt16BE(id, index * 6);
    payload.writeUInt32BE(value >>> 0, index * 6 + 2);
  });
  return frame(type.settings, 0, 0, payload);
}

/** Four bytes of a number. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

/** An integer of HPACK behind the high bits of its first byte. */
export function hpackInteger(value: number, prefixBits: number, high: number): Buffer {
  const most = 2 ** prefixBits - 1;
  if (value < most) return Buffer.from([high | value]);
  const bytes = [high | most];
  let rest = value - most;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

/** A text of HPACK, not compressed. */
export function hpackText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([hpackInteger(bytes.length, 7, 0), bytes]);
}

/** A header block of literals that no table keeps. */
export function headerBlock(headers: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), hpackText(name), hpackText(value)]));
}

/** The headers of a call, with a key. */
export function callHeaders(path: string, contentType: string | null, verb = contentType === null ? 'GET' : 'POST'): [string, string][] {
  const key = keyLine('right').slice('authorization: '.length).trimEnd();
  return [
    [':method', verb],
    [':scheme', 'http'],
    [':authority', 'a'],
    [':path', path],
    ['authorization', key],
    ...(contentType === null ? [] : [['content-type', contentType] as [string, string]]),
  ];
}

/** A HEADERS frame that is whole. */
export function headersFrame(stream: number, block: Uint8Array, endStream: boolean): Buffer {
  return frame(type.headers, flag.endHeaders | (endStream ? flag.endStream : 0), stream, block);
}

/** The complete frames that a connection received. */
export function framesIn(
  received: Buffer,
): { readonly kind: number; readonly flags: number; readonly stream: number; readonly payload: Buffer }[] {
  const frames = [];
  for (let at = 0; at + 9 <= received.length; ) {
    const length = received.readUIntBE(at, 3);
    if (at + 9 + length > received.length) break;
    frames.push({
      kind: received.readUInt8(at + 3),
      flags: received.readUInt8(at + 4),
      stream: received.readUInt32BE(at + 5) & 0x7fffffff,
      payload: received.subarray(at + 9, at + 9 + length),
    });
    at += 9 + length;
  }
  return frames;
}
