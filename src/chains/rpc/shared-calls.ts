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

/** What decides which endpoints get a call: shared ones have no other options. */
export interface Route {
  /**
   * `head`: the endpoint that reported the head goes first, since the answer must fit that head or its pool. `another`: it gets the call
   * only if it is the only one, for a second opinion; `otherThan`: so do these. Absent: endpoints alternate by weight.
   */
  readonly first?: First;
  /**
   * Report an error about the node only if every endpoint answered with one. Otherwise report that no node is reachable. `in use`:
   * endpoints that have been out of rotation for a minute are not asked and do not count, unless all are.
   */
  readonly unanimous?: 'all' | 'in use';
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
    share<T>(call: RpcCall<T>, { first, unanimous }: Route): Promise<Given<T>> {
      const key = `${routeKey(first)} ${unanimous}`;
      const gathering = gatherings.get(key) ?? {
        route: { ...(first === undefined ? {} : { first }), ...(unanimous === undefined ? {} : { unanimous }) },
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
