import { BlockList, isIP } from 'node:net';

/** IPv4 ranges without public receivers (IANA's special-purpose registry, multicast and everything above it). */
const reservedIpv4 = blockListFrom('ipv4', [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // Azure's metadata and DNS: a public address that only Azure machines reach.
  ['168.63.129.16', 32],
]);

/** Contains every public address. Loopback, mapped, NAT64, link-local, unique-local, site-local and multicast are outside. */
const globalIpv6 = blockListFrom('ipv6', [['2000::', 3]]);

/** Ranges in `globalIpv6` that are not public: protocol assignments including Teredo, 6to4, documentation. */
const reservedIpv6 = blockListFrom('ipv6', [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]);

const reservedSuffixes = ['localhost', 'localdomain', 'local', 'internal', 'intranet', 'private', 'corp', 'home', 'lan', 'home.arpa'];

/**
 * True if the service must not connect to the address: private, loopback, link-local, metadata, multicast, unspecified, translated or
 * reserved.
 */
export function isReservedAddress(address: string): boolean {
  const [bare = ''] = address.split('%');
  const family = isIP(bare);
  if (family === 4) return reservedIpv4.check(bare, 'ipv4');
  if (family === 6) return !globalIpv6.check(bare, 'ipv6') || reservedIpv6.check(bare, 'ipv6');
  return true;
}

/**
 * True if the service must not connect to the host, even if DNS resolves it: a reserved address, or a name that only a private network
 * resolves, such as one without a dot. `host` comes from a WHATWG URL, which normalizes every spelling of an address; brackets are
 * optional.
 */
export function isReservedHost(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '');
  if (isIP(bare) !== 0) return isReservedAddress(bare);
  const name = bare.toLowerCase().replace(/\.+$/, '');
  return !name.includes('.') || reservedSuffixes.some((suffix) => name.endsWith(`.${suffix}`));
}

function blockListFrom(family: 'ipv4' | 'ipv6', ranges: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of ranges) list.addSubnet(net, prefix, family);
  return list;
}
