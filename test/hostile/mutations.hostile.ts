import type { Random } from '../support/seeded-random.js';
import { type Attack, type Ground, inLanes, refuseFailure } from './attack.js';
import { callHeaders, flag, frame, headerBlock, headersFrame, preface, settings, type } from './http2-frames.js';
import { envelope, http1, validCalls, validRest } from './valid-requests.js';

/** A request whose head stays, and whose body may be any bytes. */
interface Sample {
  /** The whole request around a body. */
  readonly around: (body: Uint8Array) => Buffer;
  readonly body: Buffer;
}

const samples: readonly Sample[] = [
  ...validRest.map(({ verb, path, body }) => ({
    around: (bytes: Uint8Array) => http1({ verb, path, type: 'application/json', body: body === null ? null : bytes }),
    body: Buffer.from(body ?? ''),
  })),
  ...validCalls.flatMap(({ path, json, binary }): Sample[] => [
    { around: (bytes) => http1({ path, type: 'application/json', body: bytes }), body: Buffer.from(json) },
    { around: (bytes) => http1({ path, type: 'application/proto', body: bytes }), body: Buffer.from(binary) },
    { around: (bytes) => http1({ path, type: 'application/grpc-web+proto', body: bytes }), body: envelope(binary) },
    { around: (bytes) => http1({ path, type: 'application/grpc-web+proto', body: envelope(bytes) }), body: Buffer.from(binary) },
    { around: (bytes) => overHttp2(path, bytes), body: envelope(binary) },
    { around: (bytes) => overHttp2(path, envelope(bytes)), body: Buffer.from(binary) },
  ]),
];

function overHttp2(path: string, body: Uint8Array): Buffer {
  const headers = headersFrame(1, headerBlock([...callHeaders(path, 'application/grpc'), ['te', 'trailers']]), false);
  return Buffer.concat([preface, settings(), headers, frame(type.data, flag.endStream, 1, body)]);
}

/** Bytes and texts that parsers trip over. */
const poison = [
  '\0',
  '\xff',
  '"',
  '{',
  '}',
  '[',
  '\\u0000',
  '\\ud800',
  '-',
  '.',
  'e999',
  '0x',
  '\r\n',
  '\r\n\r\n',
  '%00',
  ':',
  '9'.repeat(40),
  '\x80\x80\x80\x80\x80',
  '__proto__',
  'null',
];

/** One to four changes: bytes flipped, cut out, doubled, put in, or taken from another sample. */
function mutated(bytes: Buffer, other: Buffer, random: Random): Buffer {
  let now = bytes;
  for (let change = random.between(1, 4); change > 0; change -= 1) {
    const at = random.between(0, now.length);
    const to = Math.min(now.length, at + random.between(1, 20));
    switch (random.between(0, 6)) {
      case 0: {
        const copy = Buffer.from(now);
        if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << random.between(0, 7));
        now = copy;
        break;
      }
      case 1:
        now = Buffer.concat([now.subarray(0, at), Buffer.from([random.between(0, 255)]), now.subarray(at + 1)]);
        break;
      case 2:
        now = Buffer.concat([now.subarray(0, at), now.subarray(to)]);
        break;
      case 3:
        now = Buffer.concat([now.subarray(0, to), now.subarray(at)]);
        break;
      case 4:
        now = Buffer.concat([
          now.subarray(0, at),
          Buffer.from(poison[random.between(0, poison.length - 1)] ?? '', 'latin1'),
          now.subarray(at),
        ]);
        break;
      case 5:
        now = Buffer.concat([now.subarray(0, at), other.subarray(random.between(0, other.length))]);
        break;
      default:
        now = now.subarray(0, at);
    }
  }
  return now;
}

/** Of a mutation that may leave the service waiting for more. */
const patienceMs = 150;

/** Sends bytes, and waits for the beginning of an answer, the end of the connection, or a short time. */
async function fling({ target }: Ground, bytes: Buffer): Promise<string> {
  const socket = await target.open();
  target.counts.requests += 1;
  let received = '';
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, patienceMs);
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      // HTTP/2 says its SETTINGS first; its END_STREAM or RST_STREAM is looked for, roughly.
      if (received.startsWith('HTTP/1.1 ') || received.includes('\0\x05\0\0\0\x01') || received.includes('\0\x01\x05\0\0\0\x01')) resolve();
    });
    socket.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
    socket.write(bytes);
  });
  socket.destroy();
  return received;
}

async function mutations(ground: Ground): Promise<void> {
  const { random, isShort } = ground;
  await inLanes(isShort ? 2_000 : 20_000, 48, async () => {
    const sample = samples[random.between(0, samples.length - 1)];
    const other = samples[random.between(0, samples.length - 1)];
    if (sample === undefined || other === undefined) return;
    // Half of them only inside a well-formed message, so that they reach the code behind the HTTP parser.
    const bytes = random.chance(0.5)
      ? sample.around(mutated(sample.body, other.body, random))
      : mutated(sample.around(sample.body), other.around(other.body), random);
    const answer = await fling(ground, bytes);
    refuseFailure(ground, JSON.stringify(bytes.toString('latin1')), answer);
  });
}

export const mutationAttacks: readonly Attack[] = [{ name: 'mutations of valid requests', run: mutations }];
