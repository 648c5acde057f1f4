import type { createHttpClient } from '../../src/chains/rpc/http-client.js';
import { TransportError } from '../../src/chains/rpc/node-error.js';
import type { VirtualTime } from './virtual-time.js';

/**
 * What happens to a request. `lost`: it never arrives; `acted`: the node acts on it, and its answer is lost; both end by a time-out. `cut`: all connections to
 * the host are gone, and the service notices it at once.
 */
export type RequestFate = 'answered' | 'lost' | 'acted' | 'reset' | 'cut' | 'overload';

/** Hosts whose connections are cut because other nodes take their place. */
export interface Cuts {
  cut(host: string): void;
  /** True for the requests to a host whose connections were cut, until the service has noticed it. */
  isCut(host: string): boolean;
}

/** Makes the cuts; none yet. */
export function createCuts(time: VirtualTime): Cuts {
  const hosts = new Set<string>();
  return {
    cut: (host) => void hosts.add(host),
    isCut(host) {
      if (!hosts.has(host)) return false;
      time.after(0, () => void hosts.delete(host));
      return true;
    },
  };
}

/** The nodes behind the URLs, and the network between. */
export interface Wire {
  readonly time: VirtualTime;
  fate(host: string, body: string): RequestFate;
  delayMs(host: string): number;
  /** Nodes close each connection this long after its answer. Absent: they do not. */
  readonly idleMs?: number;
  /** Called when the service sends a request. */
  sent(host: string, body: string, calls: number): void;
  answer(host: string, body: string): string;
}

/** Opens connections for one process. `arrive` gives it what arrives there. */
export function openWire(wire: Wire, arrive: (task: () => void) => void): typeof createHttpClient {
  return ({ target: { host }, timeoutMs, onLost }) => {
    let http = 0;
    let items = 0;
    return {
      post(body, calls, beforeRepeat) {
        http += 1;
        items += calls;
        wire.sent(host, body, calls);
        return new Promise((resolve, reject) => {
          const fate = wire.fate(host, body);
          const delayMs = fate === 'cut' ? 0 : wire.delayMs(host);
          const later = (ms: number, task: () => void): void => void wire.time.after(ms, () => arrive(task));
          let text = '';
          if (fate === 'answered' || fate === 'acted')
            wire.time.after(delayMs / 2, () => {
              text = wire.answer(host, body);
            });
          if (fate === 'lost' || fate === 'acted' || delayMs > timeoutMs)
            return later(timeoutMs, () => reject(new TransportError(host, `no response within ${timeoutMs} ms`)));
          later(delayMs, async () => {
            if (fate === 'answered') {
              if (wire.idleMs !== undefined) later(wire.idleMs, onLost);
              return resolve({ statusCode: 200, text, retryAfterMs: null });
            }
            if (fate === 'overload') return resolve({ statusCode: 429, text: 'slow down', retryAfterMs: 2_000 });
            // Like the real client, which repeats the request once on another connection.
            onLost();
            await beforeRepeat?.().catch(() => undefined);
            reject(new TransportError(host, 'UND_ERR_SOCKET'));
          });
        });
      },
      calls: () => ({ http, items }),
      close: async () => {},
    };
  };
}
