import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2';
import { connect, type Socket } from 'node:net';
import type { RunningService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

/** An answer of HTTP/2, headers and trailers in one. */
export interface Http2Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** A service under attack, and the tools of attackers. */
export interface Target {
  readonly port: number;
  readonly baseUrl: string;
  /** Connections that attackers opened, and requests or frames that they sent as such. */
  readonly counts: { connections: number; requests: number };
  /** A raw connection; its errors are ignored. */
  open(): Promise<Socket>;
  /** Sends bytes on a connection of its own; resolves with the bytes received until it was closed, or `patienceMs` later, when the test destroys it. */
  send(bytes: string | Uint8Array, patienceMs?: number): Promise<string>;
  /** A session of Node's HTTP/2 client. */
  session(settings?: object): ClientHttp2Session;
  /** One request on a session; null if the session or the stream was refused, or nothing came for `patienceMs`. */
  request(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: Uint8Array, patienceMs?: number): Promise<Http2Answer | null>;
  /** Closes everything that attackers left open. */
  closeAll(): void;
  /** The new log lines that must not exist: level error, status 500, or malformed. */
  newComplaints(): string[];
  /** True while the process has not been replaced. */
  lives(): boolean;
  /** Connections that the process holds, and the port. */
  sockets(): number;
  /** Its memory after it has collected its garbage. */
  settle(): Promise<Memory>;
  /** The longest stall of the process since the last call, in milliseconds. */
  stallMs(): Promise<number>;
  /** The processor time of the longest turn of the process's event loop since the last call, in milliseconds. */
  turnCpuMs(): Promise<number>;
}

/** Mebibytes. */
export interface Memory {
  readonly rss: number;
  /** JavaScript's heap and what belongs to it outside. */
  readonly held: number;
  /** The longest stall of the process since the last call, in milliseconds. */
  readonly stallMs: number;
  readonly turnCpuMs: number;
}

const defaultPatienceMs = 8_000;

/** Attackers' view of a running service that was started with `collect-on-signal.ts`. */
export function createTarget(service: RunningService): Target {
  const { port, baseUrl, pid } = service;
  const counts = { connections: 0, requests: 0 };
  const open = new Set<{ destroy(): unknown }>();
  const startTime = startTimeOf(pid);
  let read = 0;

  function keep<T extends { destroy(): unknown; once(event: 'close', listener: () => void): unknown }>(one: T): T {
    counts.connections += 1;
    open.add(one);
    one.once('close', () => open.delete(one));
    return one;
  }

  async function openSocket(): Promise<Socket> {
    const socket = keep(connect(port, '127.0.0.1'));
    socket.on('error', () => undefined);
    await new Promise<void>((resolve) => {
      socket.once('connect', resolve);
      socket.once('close', () => resolve());
    });
    return socket;
  }

  async function send(bytes: string | Uint8Array, patienceMs = defaultPatienceMs): Promise<string> {
    const socket = await openSocket();
    counts.requests += 1;
    let received = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      received += chunk;
    });
    const timer = setTimeout(() => socket.destroy(), patienceMs);
    const closed = closeOf(socket);
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
    await closed;
    clearTimeout(timer);
    return received;
  }

  function session(settings: object = {}): ClientHttp2Session {
    const made = keep(connectHttp2(baseUrl, { settings, maxSessionMemory: 1000 }));
    made.on('error', () => undefined);
    return made;
  }

  function request(
    over: ClientHttp2Session,
    headers: OutgoingHttpHeaders,
    body?: Uint8Array,
    patienceMs = defaultPatienceMs,
  ): Promise<Http2Answer | null> {
    counts.requests += 1;
    return new Promise((resolve) => {
      if (over.closed || over.destroyed) {
        resolve(null);
        return;
      }
      const stream = over.request(headers, { endStream: body === undefined });
      const timer = setTimeout(() => done(null), patienceMs);
      let all: Record<string, unknown> = {};
      const chunks: Buffer[] = [];
      const done = (answer: Http2Answer | null): void => {
        clearTimeout(timer);
        resolve(answer);
        stream.close(8);
      };
      const add = (more: object): void => {
        all = { ...all, ...more };
      };
      const answered = (): void =>
        done(all[':status'] === undefined ? null : { status: Number(all[':status']), headers: all, body: Buffer.concat(chunks) });
      stream.on('response', add).on('trailers', add).on('error', answered).on('close', answered).on('end', answered);
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      if (body !== undefined) stream.end(body);
    });
  }

  function newComplaints(): string[] {
    const output = service.output();
    const end = output.lastIndexOf('\n') + 1;
    const lines = output.slice(read, end).split('\n');
    read = end;
    return lines.filter((line) => line !== '' && !isHarmless(line));
  }

  async function collect(): Promise<Memory> {
    const before = service.output().length;
    process.kill(pid, 'SIGUSR2');
    const line = await waitFor('the collection of garbage', () => /^.*"msg":"collected".*$/m.exec(service.output().slice(before))?.[0]);
    const { heldBytes, ...turns } = JSON.parse(line) as { heldBytes: number; stallMs: number; turnCpuMs: number };
    return { rss: residentOf(pid), held: inMebibytes(heldBytes), stallMs: turns.stallMs, turnCpuMs: turns.turnCpuMs };
  }

  async function settle(): Promise<Memory> {
    let least = await collect();
    for (let round = 0; round < 3; round += 1) {
      const next = await collect();
      if (next.rss < least.rss) least = next;
    }
    return least;
  }

  return {
    port,
    baseUrl,
    counts,
    open: openSocket,
    send,
    session,
    request,
    closeAll() {
      for (const one of open) one.destroy();
    },
    newComplaints,
    lives: () => startTimeOf(pid) === startTime,
    sockets: () => socketsOf(pid, port),
    settle,
    stallMs: async () => (await collect()).stallMs,
    turnCpuMs: async () => (await collect()).turnCpuMs,
  };
}

/** Resolves when a connection is closed for any reason. */
export function closeOf(socket: Socket): Promise<void> {
  return socket.closed ? Promise.resolve() : new Promise((resolve) => socket.once('close', () => resolve()));
}

/** A log line that reports no failure. 501 and 503 are answers, not failures. */
function isHarmless(line: string): boolean {
  try {
    const { level, status = 0 } = JSON.parse(line) as { level: string; status?: number };
    return (level === 'info' || level === 'warn' || level === 'audit') && status !== 500;
  } catch {
    return false;
  }
}

/** When the process started, in the kernel's clock; undefined if there is none. */
function startTimeOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[19];
  } catch {
    return undefined;
  }
}

function residentOf(pid: number): number {
  const kibibytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return inMebibytes(Number(kibibytes) * 1024);
}

function inMebibytes(bytes: number): number {
  return Math.round(bytes / 104_857.6) / 10;
}

/** Connections that the process holds on its port, and the port itself; its own to nodes and others are not counted. */
function socketsOf(pid: number, port: number): number {
  const lines = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').split('\n').slice(1);
  const portText = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const inodes = new Set(
    lines.map((line) => line.trim().split(/\s+/)).flatMap((cells) => (cells[1]?.endsWith(portText) === true ? [cells[9]] : [])),
  );
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return inodes.has(/^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1]);
    } catch {
      // Closed between the two looks.
      return false;
    }
  }).length;
}
