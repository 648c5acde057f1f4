import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Endpoint } from '../../../src/chains/rpc/endpoint.js';
import { createEndpointSelector, createRotation } from '../../../src/chains/rpc/endpoint-selector.js';
import { TransportError } from '../../../src/chains/rpc/node-error.js';
import { silentLog } from '../../support/stored-samples.js';

interface Candidate {
  readonly name: string;
  readonly weight: number;
}

function order(candidates: readonly Candidate[], picks: number): string {
  const next = createRotation<Candidate>();
  return Array.from({ length: picks }, () => next(candidates).name).join('');
}

describe('endpoint rotation', () => {
  it('endpoint rotation: alternates between equal weights', () => {
    const candidates = ['a', 'b', 'c'].map((name) => ({ name, weight: 100 }));
    assert.equal(order(candidates, 6), 'abcabc');
  });

  it('endpoint rotation: spreads out the picks of a heavier endpoint', () => {
    const candidates = [5, 1, 1].map((weight, index) => ({ name: 'abc'[index] ?? '', weight }));
    assert.equal(order(candidates, 7), 'aabacaa');
  });

  it('endpoint rotation: picks in proportion to the weights, for any weights', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 6 }), (weights) => {
        const candidates = weights.map((weight, index) => ({ name: String(index), weight }));
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const picked = [...order(candidates, total)];
        assert.deepEqual(
          candidates.map(({ name }) => picked.filter((one) => one === name).length),
          weights,
        );
      }),
    );
  });

  it('endpoint rotation: continues with the remaining candidates', () => {
    const [a, b] = ['a', 'b'].map((name) => ({ name, weight: 1 }));
    assert.ok(a !== undefined && b !== undefined);
    const next = createRotation<Candidate>();
    const picks = [[a, b], [b], [b], [a, b], [a, b], [a, b]].map((candidates) => next(candidates).name);
    assert.equal(picks.join(''), 'abbbab');
  });
});

it('endpoint probes: judge an endpoint by its present block, not by the one from before the first head', async () => {
  let elapsedMs = 0;
  let number = 100n;
  const asked: string[] = [];
  const endpointAt = (host: string, isDown = false) =>
    ({
      host,
      weight: 100,
      isTripped: () => isDown,
      isBlocked: () => false,
      isProbeDue: () => false,
      trippedBy: () => null,
      blockAt: async () => null,
      caughtUp: () => undefined,
      markOff: (standing: string) => assert.fail(`${host} is called ${standing}`),
      async position() {
        asked.push(host);
        if (isDown) throw new TransportError(host, 'is down');
        return { number, timestampMs: null };
      },
    }) as unknown as Endpoint;
  const [first, second] = [endpointAt('first'), endpointAt('second')];
  const selector = createEndpointSelector([endpointAt('dead', true), first, second], {
    networkName: 'test-network',
    averageBlockTimeMs: 1_000,
    requiredConfirmations: 1,
    clock: { nowMs: () => elapsedMs, elapsedMs: () => elapsedMs },
    log: silentLog,
  });
  selector.expectHead();
  assert.ok(await selector.takeHead(first, { number, timestampMs: null }, elapsedMs));
  elapsedMs = 50_000;
  number = 150n;
  assert.ok(await selector.takeHead(second, { number, timestampMs: null }, elapsedMs));
  assert.deepEqual(asked, ['first', 'second', 'first']);
});
