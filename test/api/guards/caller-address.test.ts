import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createCallerAddress } from '../../../src/api/guards/caller-address.js';
import type { ApiRequest } from '../../../src/api/http/header.js';
import { addressRangesFrom } from '../../../src/core/text/address-ranges.js';

const trusted = addressRangesFrom(['10.0.0.0/8', '2001:db8::/64', '192.0.2.7']);
assert.ok(trusted);
const addressOf = createCallerAddress(trusted);

function request(remoteAddress: string, ...forwarded: string[]): ApiRequest {
  const rawHeaders = forwarded.flatMap((value) => ['X-Forwarded-For', value]);
  const headers = forwarded.length === 0 ? {} : { 'x-forwarded-for': forwarded.join(', ') };
  return { socket: { remoteAddress }, rawHeaders, headers } as unknown as ApiRequest;
}

describe('the address of a caller', () => {
  const cases: readonly [string, ApiRequest, string][] = [
    ['a header of a stranger counts for nothing', request('203.0.113.5', '198.51.100.1'), '203.0.113.5'],
    ['a trusted proxy names the caller', request('10.1.2.3', '198.51.100.1'), '198.51.100.1'],
    ['a socket of IPv6 reports an IPv4 proxy', request('::ffff:10.1.2.3', '198.51.100.1'), '198.51.100.1'],
    ['the word of the caller before that of the proxy counts for nothing', request('10.1.2.3', '1.1.1.1, 198.51.100.1'), '198.51.100.1'],
    ['several proxies and several headers', request('10.1.2.3', '1.1.1.1, 198.51.100.1', '192.0.2.7,10.9.9.9'), '198.51.100.1'],
    ['an address with a port', request('10.1.2.3', '198.51.100.1:4711'), '198.51.100.1'],
    ['an IPv6 address with a port', request('2001:db8::1', '[2001:db8:1::5]:443'), '2001:db8:1::5'],
    ['a text that is no address ends the search', request('10.1.2.3', '198.51.100.1, unknown, 10.0.0.9'), '10.0.0.9'],
    ['a proxy without the header', request('10.1.2.3'), '10.1.2.3'],
    ['only proxies', request('10.1.2.3', '10.0.0.1'), '10.0.0.1'],
  ];
  for (const [what, given, expected] of cases) {
    it(`caller address: ${what}`, () => assert.equal(addressOf(given), expected));
  }

  it('caller address: ranges that are none are refused', () => {
    for (const text of ['10.0.0.0/33', '10.0.0/8', 'proxy', '::1/129', '1.2.3.4/', 'fe80::1%eth0']) {
      assert.equal(addressRangesFrom([text]), null, text);
    }
  });
});
