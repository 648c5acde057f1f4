import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createStreamLimit } from '../../../src/api/guards/stream-limit.js';
import type { Principal } from '../../../src/core/records/principal.js';

const keyOf = (keyId: string) => ({ keyId }) as Principal;
const tooMany = (message: RegExp) => ({ kind: 'rate_limited', reason: 'TOO_MANY_STREAMS', message });

describe('the limit of open streams', () => {
  it('streams: a key at its limit is refused, others are not, and an ended stream makes room', () => {
    const open = createStreamLimit({ perKey: 2, perProcess: 10 });
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

  it('streams: the service at its limit refuses every key', () => {
    const open = createStreamLimit({ perKey: 2, perProcess: 3 });
    const end = open(keyOf('a'));
    open(keyOf('b'));
    open(keyOf('c'));
    assert.throws(() => open(keyOf('d')), tooMany(/^the service has 3 open streams, the maximum/));
    end();
    open(keyOf('d'));
  });

  it('streams: callers without a key share the limit of one key', () => {
    const open = createStreamLimit({ perKey: 2, perProcess: 10 });
    open(null);
    open(null);
    assert.throws(() => open(null), tooMany(/^callers without an API key have 2 open streams/));
    open(keyOf('a'));
  });
});
