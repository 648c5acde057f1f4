import { BlockList, isIP } from 'node:net';

/** Ranges of IP addresses. */
export interface AddressRanges {
  /** True if a range contains the address. */
  includes(address: string): boolean;
  /** True if one range contains all of another range. */
  covers(range: string): boolean;
}

interface Range {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  /** Of the prefix. */
  readonly length: number;
}

/** Reads ranges: each an address, or an address and the length of its prefix (`10.0.0.0/8`). Null if one is neither. */
export function addressRangesFrom(texts: readonly string[]): AddressRanges | null {
  // Each look at a list costs as much as hashing a key, also at an empty one.
  if (texts.length === 0) return { includes: () => false, covers: () => false };
  const ranges = texts.flatMap((text) => rangeFrom(text) ?? []);
  if (ranges.length < texts.length) return null;
  const list = blockListOf(ranges);
  return {
    includes(address) {
      const bare = bareAddress(address);
      const family = isIP(bare);
      return family !== 0 && list.check(bare, family === 4 ? 'ipv4' : 'ipv6');
    },
    covers(text) {
      const wanted = rangeFrom(text);
      return (
        wanted !== null &&
        ranges.some((range) => bitsOf(range) <= bitsOf(wanted) && blockListOf([range]).check(wanted.address, wanted.family))
      );
    },
  };
}

function rangeFrom(text: string): Range | null {
  const [, address = '', prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  const bits = family === 4 ? 32 : 128;
  const length = Number(prefix ?? bits);
  return family === 0 || length > bits ? null : { address, length, family: family === 4 ? 'ipv4' : 'ipv6' };
}

/** Of the prefix, as if the range were one of IPv6: an IPv4 address is the end of an IPv6 one, which `BlockList` knows. */
function bitsOf({ family, length }: Range): number {
  return family === 'ipv4' ? 96 + length : length;
}

function blockListOf(ranges: readonly Range[]): BlockList {
  const list = new BlockList();
  for (const { address, length, family } of ranges) list.addSubnet(address, length, family);
  return list;
}

/** Returns the address without its zone; an IPv4 address as such, also if a socket of IPv6 reports it. */
export function bareAddress(address: string): string {
  const bare = address.replace(/%.*$/, '');
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(bare) ? bare.slice('::ffff:'.length) : bare;
}

/** Returns what limits per address count under: one caller can use all addresses of its IPv6 network, whose prefix has 64 bits. */
export function limitedAddress(address: string): string {
  const bare = bareAddress(address);
  if (isIP(bare) !== 6) return bare;
  const [head = '', tail] = bare.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  return [...before, ...Array.from({ length: zeros }, () => '0'), ...after].slice(0, 4).join(':');
}
