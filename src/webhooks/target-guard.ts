import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { isReservedAddress, isReservedHost } from '../core/notification/reserved-host.js';

/** Thrown instead of dialling a target that must not be dialled. */
export class TargetRefusedError extends Error {
  override readonly name = 'TargetRefusedError';
}

/** All addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

/** What the guard works with. */
export interface TargetGuardDeps {
  /** True: everything is dialled. */
  readonly allowPrivateTargets: boolean;
  /** How long dialling may take, name resolution included. */
  readonly timeoutMs: number;
  /** Default: the machine's resolver. */
  readonly resolve?: Resolve;
}

/**
 * A connector for undici that judges what is really dialled. The socket gets its addresses from the very lookup that was judged, so a name that
 * answers differently a moment later gains nothing; and where one address of a name is reserved, none of them is dialled.
 */
export function createGuardedConnector(deps: TargetGuardDeps): buildConnector.connector {
  const { allowPrivateTargets, timeoutMs, resolve = resolveByMachine } = deps;
  const connect = buildConnector({ timeout: timeoutMs, lookup: guardedLookup(resolve, allowPrivateTargets) });
  return (options, callback) => {
    // Sockets ask no lookup about a literal address.
    if (!allowPrivateTargets && isReservedHost(options.hostname)) callback(new TargetRefusedError('the host is reserved'), null);
    else connect(options, callback);
  };
}

function guardedLookup(resolve: Resolve, allowPrivateTargets: boolean): LookupFunction {
  return (hostname, options, callback) => {
    judgedAddresses(resolve, hostname, allowPrivateTargets).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };
}

async function judgedAddresses(
  resolve: Resolve,
  hostname: string,
  allowPrivateTargets: boolean,
): Promise<readonly [LookupAddress, ...LookupAddress[]]> {
  const [first, ...others] = await resolve(hostname);
  if (first === undefined) throw new Error('the name has no address');
  const addresses = [first, ...others] as const;
  if (!allowPrivateTargets && addresses.some(({ address }) => isReservedAddress(address))) {
    throw new TargetRefusedError('the name leads to a reserved address');
  }
  return addresses;
}

function resolveByMachine(hostname: string): Promise<readonly LookupAddress[]> {
  return lookup(hostname, { all: true });
}
