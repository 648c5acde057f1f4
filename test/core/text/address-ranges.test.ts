import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressRangesFrom } from '../../../src/core/text/address-ranges.js';

const rangesFrom = (...texts: string[]) => addressRangesFrom(texts) ?? assert.fail('no ranges');

test('address ranges: an IPv4 address is the same one in IPv6, and so is a range', () => {
  for (const range of ['10.0.0.0/8', '::ffff:10.0.0.0/104', '::ffff:a00:0/104', '10.9.9.9/8']) {
    const ranges = rangesFrom(range, '2001:db8::/32');
    for (const inside of ['10.1.2.3', '::ffff:10.1.2.3', '::ffff:a01:203', '2001:db8:1::5', '2001:db8::1%eth0'])
      assert.ok(ranges.includes(inside), `${range} ${inside}`);
    for (const outside of ['11.1.2.3', '::ffff:11.1.2.3', '::ffff:b01:203', '2001:db9::1', '::10.1.2.3', '', 'unknown'])
      assert.ok(!ranges.includes(outside), `${range} ${outside}`);
  }
  assert.ok(!rangesFrom('0.0.0.0/0').includes('2001:db8::1'));
});

test('address ranges: one range covers another only if it contains all of it', () => {
  const ranges = rangesFrom('10.0.0.0/8', '192.0.2.7', '2001:db8::/32');
  for (const inside of ['10.0.0.0/8', '10.1.0.0/16', '10.1.2.3', '::ffff:10.1.0.0/112', '192.0.2.7/32', '2001:db8:1::/48', '2001:db8::1'])
    assert.ok(ranges.covers(inside), inside);
  for (const beyond of ['10.0.0.0/7', '0.0.0.0/0', '::/0', '192.0.2.0/24', '11.0.0.0/8', '2001:db8::/31', '::ffff:0:0/96', 'unknown'])
    assert.ok(!ranges.covers(beyond), beyond);
  assert.ok(rangesFrom('::/0').covers('10.0.0.0/8'));
  assert.ok(!rangesFrom('0.0.0.0/0').covers('2001:db8::1'));
});
