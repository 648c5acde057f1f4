import { isIP } from 'node:net';
import { type AddressRanges, bareAddress } from '../../core/text/address-ranges.js';
import { type ApiRequest, headerValuesOf } from '../http/header.js';

/** Returns the address of the caller; null if its connection is gone. */
export type CallerAddress = (request: ApiRequest) => string | null;

/**
 * Creates the reader of addresses. If a trusted proxy has the connection, the caller is the last address of `X-Forwarded-For` that is not a
 * trusted proxy: a proxy appends the address that it saw, and the addresses before that come from the caller.
 */
export function createCallerAddress(trustedProxies: AddressRanges): CallerAddress {
  return (request) => {
    const peer = request.socket?.remoteAddress;
    if (peer === undefined) return null;
    let address = bareAddress(peer);
    if (!trustedProxies.includes(address)) return address;
    const hops = headerValuesOf(request, 'x-forwarded-for').flatMap((value) => value.split(','));
    for (const hop of hops.reverse()) {
      const next = hopAddress(hop.trim());
      if (next === null) return address;
      address = next;
      if (!trustedProxies.includes(address)) return address;
    }
    return address;
  };
}

/** Some proxies append the port. Null if it is no address. */
function hopAddress(hop: string): string | null {
  const [, inBrackets, plain] = /^(?:\[([0-9a-f:.]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/i.exec(hop) ?? [];
  const address = bareAddress(inBrackets ?? plain ?? hop);
  return isIP(address) === 0 ? null : address;
}
