import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createReadiness } from '../../../src/api/contract/readiness.js';

it('readiness is false as soon as the store is known to be away, without a measurement, and is measured again when it is back', async () => {
  let nowMs = 0;
  let isAway = false;
  let measured = 0;
  const readiness = createReadiness(
    async () => {
      measured += 1;
      return { ready: true, components: { store: 'ok', lanes: 'ok' }, networks: { local: 'ok' } };
    },
    { clock: { nowMs: () => nowMs }, leaving: new AbortController().signal, isStoreAway: () => isAway },
  );
  assert.equal((await readiness()).ready, true);
  isAway = true;
  for (nowMs of [1, 5_000]) {
    assert.deepEqual(await readiness(), { ready: false, components: { store: 'not working', lanes: 'ok' }, networks: { local: 'ok' } });
  }
  assert.equal(measured, 1);
  isAway = false;
  assert.equal((await readiness()).ready, true);
  assert.equal(measured, 2);
});

it('readiness is false as soon as the service leaves, and while a measurement fails or hangs, with nothing else of it changed', async () => {
  const leaving = new AbortController();
  const clock = { nowMs: () => 0 };
  const measured = { ready: true, components: { store: 'ok' }, networks: { local: 'ok' } };
  const readiness = createReadiness(async () => measured, { clock, leaving: leaving.signal });
  assert.equal(await readiness(), measured);
  leaving.abort();
  assert.deepEqual(await readiness(), { ready: false, components: { store: 'ok', service: 'stopping' }, networks: { local: 'ok' } });
  const { signal } = new AbortController();
  const failing = createReadiness(() => Promise.reject(new Error('a bug')), { clock, leaving: signal });
  assert.deepEqual(await failing(), { ready: false, components: { readiness: 'cannot be measured' }, networks: {} });
  const hanging = createReadiness(() => new Promise(() => undefined), { clock, leaving: signal });
  assert.deepEqual(await hanging(), { ready: false, components: { readiness: 'cannot be measured in time' }, networks: {} });
});
