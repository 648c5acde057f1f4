import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Callers, Job, JobRequest, OpenCallers } from './job.js';

/** Callers over HTTP/1.1: a raw keep-alive socket for each, since a real client would cost as much as the measured servers. */
export const openHttp1Callers: OpenCallers = async (job, onAnswer, onFailure) => {
  const bytes = requestBytes(job.request);
  const callers = await Promise.all(Array.from({ length: job.callers }, () => openCaller(job, bytes, onAnswer, onFailure)));
  return {
    start() {
      for (const caller of callers) caller.start();
    },
    async stop() {
      await Promise.all(callers.map((caller) => caller.stop()));
    },
  };
};

function requestBytes({ method, path, headers, body }: JobRequest): Buffer {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1', ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
  if (body.length > 0) lines.push(`content-length: ${body.length}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

async function openCaller(
  job: Job,
  request: Buffer,
  onAnswer: (tookMs: number) => void,
  onFailure: (what: string) => void,
): Promise<Callers> {
  const socket: Socket = connect({ host: '127.0.0.1', port: job.port, noDelay: true });
  await once(socket, 'connect');
  let startedAtMs = 0;
  let received: Buffer | null = null;
  let stopped: (() => void) | null = null;

  function call(): void {
    startedAtMs = performance.now();
    socket.write(request);
  }

  socket.on('data', (chunk: Buffer) => {
    received = received === null ? chunk : Buffer.concat([received, chunk]);
    if (!isWhole(received)) return;
    // `HTTP/1.1 2..`
    if (received[9] !== 0x32) onFailure(received.toString('latin1'));
    received = null;
    onAnswer(performance.now() - startedAtMs);
    if (stopped === null) call();
    else stopped();
  });
  socket.on('error', (error) => onFailure(error.message));

  return {
    start: call,
    async stop() {
      await new Promise<void>((resolve) => {
        stopped = resolve;
      });
      socket.destroy();
    },
  };
}

const lengthHeader = Buffer.from('ontent-length: ', 'latin1');
const lastChunk = Buffer.from('0\r\n\r\n', 'latin1');

/** True when the answer is complete: by its length, else by its last chunk. A socket has only one answer at a time. */
function isWhole(received: Buffer): boolean {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return false;
  const at = received.indexOf(lengthHeader);
  if (at === -1 || at > headEnd) return received.subarray(-lastChunk.length).equals(lastChunk);
  let length = 0;
  for (let digit = at + lengthHeader.length; ; digit += 1) {
    const code = received[digit] ?? 0;
    if (code < 0x30 || code > 0x39) break;
    length = length * 10 + (code - 0x30);
  }
  return received.length >= headEnd + 4 + length;
}
