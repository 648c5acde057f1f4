import type { Endpoint } from './endpoint.js';
import type { First } from './endpoint-selector.js';
import type { RpcCall, Settled } from './json-rpc.js';

/** The largest batch that an endpoint gets. */
export const maxBatchCalls = 50;
/**
 * With this many requests of shared calls in flight, further calls gather until one is answered: then each costs less, and a single call
 * never waits.
 */
const maxShared = 4;

/** A result, and the endpoint that gave it; null: none answered. */
export interface Given<T> {
  readonly answer: Settled<T>;
  readonly from: Endpoint | null;
}

/** What decides which endpoints get a shared call: the only options of `CallOptions` that such calls have. */
interface Route {
  readonly first?: First;
  readonly unanimous?: boolean;
}

/** A call that is not sent yet. */
interface Gathered {
  readonly call: RpcCall<unknown>;
  readonly resolve: (given: Given<unknown>) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls that go to the same endpoints. */
interface Gathering {
  readonly route: Route;
  readonly waiting: Gathered[];
  inFlight: number;
}

/** Sends calls of many callers together. */
export interface SharedCalls {
  /** Sends a call in one request with others that have the same route. */
  share<T>(call: RpcCall<T>, route: Route): Promise<Given<T>>;
}

/** Creates shared calls. `settle` sends a batch and returns what was given for each of its calls. */
export function createSharedCalls(
  settle: (calls: readonly RpcCall<unknown>[], route: Route) => Promise<readonly Given<unknown>[]>,
): SharedCalls {
  const gatherings = new Map<string, Gathering>();

  function send(key: string, gathering: Gathering): void {
    const { route, waiting } = gathering;
    while (gathering.inFlight < maxShared && waiting.length > 0) {
      const gathered = waiting.splice(0, maxBatchCalls);
      gathering.inFlight += 1;
      settle(
        gathered.map(({ call }) => call),
        route,
      )
        .then(
          (settled) => {
            for (const [index, given] of settled.entries()) gathered[index]?.resolve(given);
          },
          (error: unknown) => {
            for (const { reject } of gathered) reject(error);
          },
        )
        .finally(() => {
          gathering.inFlight -= 1;
          send(key, gathering);
        });
    }
    if (gathering.inFlight === 0 && waiting.length === 0) gatherings.delete(key);
  }

  return {
    share<T>(call: RpcCall<T>, { first, unanimous = false }: Route): Promise<Given<T>> {
      const key = `${routeKey(first)} ${unanimous}`;
      const gathering = gatherings.get(key) ?? {
        route: { unanimous, ...(first === undefined ? {} : { first }) },
        waiting: [],
        inFlight: 0,
      };
      gatherings.set(key, gathering);
      return new Promise((resolve, reject) => {
        gathering.waiting.push({ call, resolve: resolve as Gathered['resolve'], reject });
        // After everything that this turn of the event loop does: the lanes of a chain look at their accounts in the same turn.
        if (gathering.waiting.length === 1 && gathering.inFlight < maxShared) process.nextTick(() => send(key, gathering));
      });
    },
  };
}

function routeKey(first: First | undefined): string {
  if (typeof first !== 'object') return String(first);
  return 'only' in first ? `only ${first.only}` : [...first.otherThan].join();
}
