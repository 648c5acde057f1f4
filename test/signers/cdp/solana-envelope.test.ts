import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { envelopeOf, signatureAt } from '../../../src/signers/cdp/solana-envelope.js';

const keyOf = (number: number): Buffer => Buffer.alloc(32, number);
const compact = (length: number): Buffer => (length < 128 ? Buffer.of(length) : Buffer.of((length & 0x7f) | 0x80, length >> 7));

/** A message with this number of signers, whose keys are 1, 2 and so on. */
function messageOf(signers: number, keys: number, { version = null as number | null, rest = 40 } = {}): Buffer {
  const all = Array.from({ length: keys }, (_, index) => keyOf((index % 250) + 1));
  const start = version === null ? [] : [Buffer.of(0x80 | version)];
  return Buffer.concat([...start, Buffer.of(signers, 0, 1), compact(keys), ...all, Buffer.alloc(rest)]);
}

describe('the envelope of a Solana message', () => {
  for (const version of [null, 0])
    it(`envelope: has room for each signature before the message, and the place of the account (version ${version})`, () => {
      const message = messageOf(3, 5, { version });
      for (const place of [0, 1, 2]) {
        const envelope = envelopeOf(message, keyOf(place + 1));
        assert.equal(envelope?.index, place);
        assert.deepEqual(Buffer.from(envelope.transaction), Buffer.concat([Buffer.of(3), Buffer.alloc(3 * 64), message]));
      }
    });

  it('envelope: there is none for an account that does not sign, and none of what is no message', () => {
    const message = messageOf(2, 5);
    assert.equal(envelopeOf(message, keyOf(3)), null, 'it is named, and does not sign');
    assert.equal(envelopeOf(message, keyOf(9)), null);
    assert.equal(envelopeOf(messageOf(0, 5), keyOf(1)), null);
    assert.equal(envelopeOf(messageOf(6, 5), keyOf(1)), null);
    assert.notEqual(envelopeOf(messageOf(5, 5), keyOf(5)), null);
    assert.equal(envelopeOf(messageOf(128, 200), keyOf(1)), null, 'more than a transaction can have');
    assert.notEqual(envelopeOf(messageOf(127, 200), keyOf(1)), null);
    const cut = messageOf(2, 5, { rest: 0 });
    assert.notEqual(envelopeOf(cut, keyOf(1)), null);
    assert.equal(envelopeOf(cut.subarray(0, -1), keyOf(1)), null);
    for (const bytes of [[], [1], [1, 0, 1], [1, 0, 1, 0x80], [1, 0, 1, 0x80, 0x80, 0x80]])
      assert.equal(envelopeOf(Buffer.from(bytes), keyOf(1)), null);
  });

  it('envelope: a signature is at its place, or there is none', () => {
    const signed = Buffer.concat([Buffer.of(2), Buffer.alloc(64, 7), Buffer.alloc(64, 8)]);
    assert.deepEqual([signatureAt(signed, 0)?.[63], signatureAt(signed, 1)?.[0]], [7, 8]);
    assert.equal(signatureAt(signed, 1)?.length, 64);
    for (const [transaction, index] of [
      [signed, 2],
      [signed.subarray(0, -1), 1],
      [Buffer.of(), 0],
    ] as const)
      assert.equal(signatureAt(transaction, index), null);
  });
});
