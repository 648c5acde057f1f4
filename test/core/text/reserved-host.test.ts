import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isReservedAddress } from '../../../src/core/text/reserved-host.js';

it('reserved addresses: private and special ranges are reserved, public ones are not', () => {
  for (const address of [
    '127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    '::1',
    '::ffff:10.0.0.1',
    'fe80::1%eth0',
    'fd00::1',
    '64:ff9b::a00:1',
  ]) {
    assert.equal(isReservedAddress(address), true, address);
  }
  for (const address of ['8.8.8.8', '2606:4700:4700::1111']) assert.equal(isReservedAddress(address), false, address);
});

it('reserved addresses: text that is not an address is reserved', () => {
  for (const text of ['', 'hooks.acme.com', '127.1', '0x7f.0.0.1', '1.2.3.4.5']) assert.equal(isReservedAddress(text), true, text);
});
