import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StrKey } from '@stellar/stellar-sdk';
import fc from 'fast-check';
import { isStrKey } from '../../../src/core/text/strkey.js';
import { runs } from '../../support/runs.js';

describe('the checksum of a Stellar address', () => {
  it('is right for what the SDK encodes, and wrong with any other character', () => {
    const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map((list) => Buffer.from(list));
    const address = fc.oneof(
      bytes(32).map((key) => StrKey.encodeEd25519PublicKey(key)),
      bytes(32).map((key) => StrKey.encodeContract(key)),
      bytes(40).map((key) => StrKey.encodeMed25519PublicKey(key)),
    );
    fc.assert(
      fc.property(address, fc.nat(68), fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'), (text, at, digit) => {
        assert.ok(isStrKey(text), text);
        const place = at % text.length;
        const changed = `${text.slice(0, place)}${digit}${text.slice(place + 1)}`;
        assert.equal(isStrKey(changed), changed === text, changed);
      }),
      { numRuns: runs(300) },
    );
  });
});
