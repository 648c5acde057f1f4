import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createStreamLimit } from '../../../src/api/guards/stream-limit.js';
import type { Principal } from '../../../src/core/records/principal.js';

const connection = {};
const keyOf = (keyId: string) => ({ principal: { keyId } as Principal, address: '192.0.2.1', connection });
const withoutKey = (address: string, own: object = {}) => ({ principal: null, address, connection: own });
const limits = { perKey: 2, perConnection: 2, perProcess: 10 };
const tooMany = (message: RegExp) => ({ kind: 'rate_limited', reason: 'TOO_MANY_STREAMS', message });

describe('the limit of open streams', () => {
  it('streams: a key at its limit is refused, others are not, and an ended stream makes room', () => {
    const open = createStreamLimit(limits);
    const end = open(keyOf('a'));
    open(keyOf('a'));
    assert.throws(() => open(keyOf('a')), tooMany(/^the key has 2 open streams, the maximum; end one/));
    open(keyOf('b'));
    end();
    // Ending it twice frees one place.
    end();
    open(keyOf('a'));
    assert.throws(() => open(keyOf('a')), tooMany(/the key has 2/));
  });

  it('streams: keys that take all that they can leave room for another key', () => {
    const open = createStreamLimit({ perKey: 50, perConnection: 4, perProcess: 1_000 });
    const ends: (() => void)[] = [];
    for (let key = 0; key < 30; key += 1) {
      for (let stream = 0; stream < 50; stream += 1) {
        try {
          ends.push(open(keyOf(`k${key}`)));
        } catch (error) {
          assert.equal((error as { reason?: string }).reason, 'TOO_MANY_STREAMS');
        }
      }
    }
    assert.ok(ends.length > 800, `${ends.length} streams are open`);
    open(keyOf('another'));
    for (const end of ends) end();
    for (let stream = 0; stream < 50; stream += 1) open(keyOf('k0'));
  });

  it('streams: the service at its limit refuses every key', () => {
    const open = createStreamLimit({ ...limits, perProcess: 3 });
    const end = open(keyOf('a'));
    open(keyOf('b'));
    open(keyOf('c'));
    assert.throws(() => open(keyOf('d')), tooMany(/^the service has 3 open streams, the maximum/));
    end();
    open(keyOf('d'));
  });

  it('streams: callers without a key have a limit for each connection, each address, and all of them', () => {
    const open = createStreamLimit({ perKey: 3, perConnection: 2, perProcess: 20 });
    const one = {};
    open(withoutKey('192.0.2.1', one));
    open(withoutKey('192.0.2.1', one));
    assert.throws(() => open(withoutKey('192.0.2.1', one)), tooMany(/on this connection have 2 open streams/));
    open(withoutKey('192.0.2.1'));
    assert.throws(() => open(withoutKey('192.0.2.1')), tooMany(/at this address have 3 open streams/));
    // Another address has room, and addresses of one IPv6 network are one.
    open(withoutKey('2001:db8:0:1::1'));
    open(withoutKey('2001:db8::1:0:0:0:2'));
    open(withoutKey('2001:db8:0:1:ffff::3'));
    assert.throws(() => open(withoutKey('2001:db8:0:1:2:3:4:5')), tooMany(/at this address/));
    for (let index = 0; index < 4; index += 1) open(withoutKey(`198.51.100.${index}`));
    assert.throws(() => open(withoutKey('203.0.113.1')), tooMany(/^callers without an API key have 10 open streams/));
    open(keyOf('a'));
  });
});
