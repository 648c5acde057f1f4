import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { limitedAddress } from '../../core/text/address-ranges.js';

/** The most connections that may be open at the same time. */
export interface ConnectionLimits {
  readonly total: number;
  /** One address never gets more than half of all. */
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

/** Counts a connection until it closes. Returns false if there is no room for it; then it is not counted. */
export type AdmitConnection = (socket: Socket) => boolean;

/** Creates the limit of open connections. */
export function createConnectionLimit({ total, perAddress, isProxy }: ConnectionLimits): AdmitConnection {
  const open = new Map<string, number>();
  let all = 0;
  const most = Math.min(perAddress, Math.ceil(total / 2));
  return (socket) => {
    const peer = socket.remoteAddress ?? '';
    const address = limitedAddress(peer);
    const own = open.get(address) ?? 0;
    if (all >= total || (own >= most && !isProxy(peer))) return false;
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
