import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { isReservedAddress, isReservedHost } from '../core/text/reserved-host.js';

/** Thrown instead of connecting to a target that is not allowed. */
class TargetRefusedError extends Error {
  override readonly name = 'TargetRefusedError';
  readonly code = 'TARGET_REFUSED';
}

/** Returns all addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** The dependencies of the guard. */
export interface TargetGuardDeps {
  /** Allows private and reserved addresses. */
  readonly allowPrivateTargets: boolean;
  /** Hosts that the service may connect to, in lower case; absent or empty: all. */
  readonly allowedHosts?: ReadonlySet<string>;
  /** The time limit of connecting, including name resolution. */
  readonly timeoutMs: number;
  /** Default: the operating system's resolver. */
  readonly resolve?: Resolve;
}

/**
 * A connector for undici that checks the addresses it connects to. The socket uses the addresses of the lookup that was checked, so a name
 * that resolves differently a moment later cannot bypass the check. If one address of a name is reserved, the connector uses none of them.
 */
export function createGuardedConnector(deps: TargetGuardDeps): buildConnector.connector {
  const { allowPrivateTargets, allowedHosts = new Set(), timeoutMs, resolve = resolveBySystem } = deps;
  const connect = buildConnector({ timeout: timeoutMs, lookup: guardedLookup(resolve, allowPrivateTargets) });
  return (options, callback) => {
    if (allowedHosts.size > 0 && !allowedHosts.has(options.hostname.toLowerCase())) {
      callback(new TargetRefusedError('the host is not one of the allowed hosts'), null);
      return;
    }
    // Sockets do no lookup for a literal address.
    if (!allowPrivateTargets && isReservedHost(options.hostname))
      callback(new TargetRefusedError('the host is local, private or reserved; set a public URL'), null);
    else connect(options, callback);
  };
}

function guardedLookup(resolve: Resolve, allowPrivateTargets: boolean): LookupFunction {
  return (hostname, options, callback) => {
    checkedAddresses(resolve, hostname, allowPrivateTargets).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };
}

async function checkedAddresses(
  resolve: Resolve,
  hostname: string,
  allowPrivateTargets: boolean,
): Promise<readonly [LookupAddress, ...LookupAddress[]]> {
  if (allowPrivateTargets) {
    const [first, ...others] = await resolve(hostname);
    if (first === undefined) throw new Error('the host name has no address');
    return [first, ...others];
  }
  // One error for both: the caller that set the URL must not learn which names the resolver of this network knows.
  const [first, ...others] = await resolve(hostname).catch((): readonly LookupAddress[] => []);
  if (first === undefined || [first, ...others].some(({ address }) => isReservedAddress(address))) {
    throw new TargetRefusedError('the host name does not resolve to a public address; set a public URL');
  }
  return [first, ...others];
}

function resolveBySystem(hostname: string): Promise<readonly LookupAddress[]> {
  return lookup(hostname, { all: true });
}
