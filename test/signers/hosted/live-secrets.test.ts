import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProviderError, type ProviderProblem } from '../../../src/signers/hosted/key-provider.js';
import { createLiveSecrets } from '../../../src/signers/hosted/live-secrets.js';

/** A provider that takes one PIN only, and a file with the operator's. */
function rig() {
  const state = {
    accepted: 'one',
    file: 'one' as string | undefined,
    reads: 0,
    sent: [] as string[],
    problem: 'refused' as ProviderProblem,
  };
  const live = createLiveSecrets({ pin: 'one' }, () => {
    state.reads += 1;
    return state.file === undefined ? {} : { pin: state.file };
  });
  const call = () =>
    live.following(async () => {
      const { pin } = live.now();
      state.sent.push(pin);
      await Promise.resolve();
      if (pin !== state.accepted) throw new ProviderError(state.problem, 'wrong PIN');
    });
  return { state, live, call };
}

describe('credentials that change', () => {
  it('are read only after a refusal, and once for all calls that were refused at the same time', async () => {
    const { state, call } = rig();
    state.file = 'two';
    await call();
    assert.equal(state.reads, 0);
    state.accepted = 'two';
    await Promise.all(Array.from({ length: 50 }, call));
    assert.equal(state.reads, 1);
    assert.equal(state.sent.filter((pin) => pin === 'two').length, 50);
  });

  it('a refusal that they do not explain is passed on, and no credential is sent twice for one call', async () => {
    const { state, call } = rig();
    state.accepted = 'two';
    await assert.rejects(call(), { message: 'wrong PIN' });
    assert.deepEqual(state.sent, ['one']);
    state.file = 'three';
    await assert.rejects(call(), { message: 'wrong PIN' });
    assert.deepEqual(state.sent, ['one', 'one', 'three']);
  });

  it('a provider that is away or throttles says nothing about them', async () => {
    const { state, call } = rig();
    Object.assign(state, { accepted: 'two', file: 'two' });
    for (const problem of ['unreachable', 'throttled'] as const) {
      state.problem = problem;
      await assert.rejects(call(), { problem });
    }
    assert.equal(state.reads, 0);
  });

  it('a file that cannot be read keeps the last ones, and errors must contain neither those nor earlier ones', async () => {
    const { state, live, call } = rig();
    Object.assign(state, { accepted: 'two', file: 'two' });
    await call();
    Object.assign(state, { accepted: 'three', file: undefined });
    await assert.rejects(call(), { problem: 'refused' });
    assert.deepEqual(live.now(), { pin: 'two' });
    assert.deepEqual(live.all(), ['two', 'one']);
  });
});
