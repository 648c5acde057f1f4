import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import type { Meter } from '../../core/ports/telemetry.js';
import { limitedAddress } from '../../core/text/address-ranges.js';
import type { Log } from '../../core/work/log.js';

/** The most connections that may be open at the same time. */
export interface ConnectionLimits {
  readonly total: number;
  /** 0: only that no address gets more than half of all. */
  readonly perAddress: number;
  /** True for a proxy, which has the connections of many callers. */
  readonly isProxy: (address: string) => boolean;
}

/** Descriptors that callers cannot use: the service needs them for nodes, the database, webhooks and files. */
const reservedDescriptors = 128;
/** More than one process can serve. */
const maxConnections = 20_000;
/** If the operating system does not report its limit. */
const usualDescriptors = 1_024;

/** Returns how many connections the process has descriptors for; at least half of its descriptors. */
export async function connectionsThatFit(): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const descriptors = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? usualDescriptors);
  return Math.min(maxConnections, Math.max(descriptors - reservedDescriptors, Math.floor(descriptors / 2)));
}

/** How refusals are reported. */
export interface RefusalReports {
  readonly log: Pick<Log, 'warn'>;
  readonly meter: Pick<Meter, 'connectionRefused'>;
}

/** A flood of refusals has one line in this time. */
const leastBetweenLinesMs = 10_000;

/** Counts a connection until it closes. Returns false if there is no room for it; then it is not counted. */
export type AdmitConnection = (socket: Socket) => boolean;

/** Creates the limit of open connections. */
export function createConnectionLimit({ total, perAddress, isProxy }: ConnectionLimits, { log, meter }: RefusalReports): AdmitConnection {
  const open = new Map<string, number>();
  let all = 0;
  const half = Math.ceil(total / 2);
  const most = perAddress === 0 ? half : Math.min(perAddress, half);
  let lineAtMs = Number.NEGATIVE_INFINITY;
  let refused = 0;

  function refuse(limit: 'total' | 'address', address: string, connections: number): false {
    meter.connectionRefused(limit);
    refused += 1;
    if (performance.now() - lineAtMs < leastBetweenLinesMs) return false;
    lineAtMs = performance.now();
    const help =
      limit === 'total'
        ? 'new connections are closed: the process has no descriptors for more; raise its limit of open files (ulimit -n)'
        : 'new connections of an address are closed: it has as many as one address may have; see CONNECTIONS_PER_ADDRESS, and TRUSTED_PROXIES if it is a proxy';
    log.warn({ address, connections, refused }, help);
    refused = 0;
    return false;
  }

  return (socket) => {
    const peer = socket.remoteAddress ?? '';
    const address = limitedAddress(peer);
    const own = open.get(address) ?? 0;
    if (all >= total) return refuse('total', address, all);
    if (own >= most && !isProxy(peer)) return refuse('address', address, own);
    all += 1;
    open.set(address, own + 1);
    socket.once('close', () => {
      all -= 1;
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
    return true;
  };
}
