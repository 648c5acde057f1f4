import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createKeyRing } from '../../../src/core/access/key-ring.js';
import type { ApiKey } from '../../../src/core/records/api-key.js';
import { monotonicMs } from '../../../src/core/work/clock.js';
import { backgroundTimers } from '../../../src/core/work/timers.js';
import { anApiKey, silentLog } from '../../support/stored-samples.js';
import { waitFor } from '../../support/wait-for.js';

const time = { clock: { nowMs: Date.now, elapsedMs: monotonicMs }, timers: backgroundTimers };

function aKey(id: string): ApiKey {
  return anApiKey({ id, name: id, scopes: ['sign'] });
}

/** A store that only reads. */
function readOf(apiKeys: () => Promise<readonly ApiKey[]>) {
  const fail = () => assert.fail('no key was used');
  return { read: { apiKeys }, change: { noteApiKeyUse: fail }, commit: fail };
}

/** Starts a key ring whose reads the test answers, one after the other; each answer waits for its read. */
function startAnswered(test: TestContext) {
  const reads: ((keys: readonly ApiKey[]) => void)[] = [];
  const apiKeys = () => new Promise<readonly ApiKey[]>((resolve) => reads.push(resolve));
  const ring = createKeyRing({ store: readOf(apiKeys), ...time, staleAfterMs: 30_000, log: silentLog });
  test.after(() => ring.stop());
  let hasStarted = false;
  const started = ring.start().then(() => {
    hasStarted = true;
  });
  const answer = async (keys: readonly ApiKey[]) => {
    const read = await waitFor('a read', () => reads.shift());
    assert.ok(!hasStarted, 'it started with keys that are out of date');
    read(keys);
  };
  return { ring, started, answer };
}

test('key ring: a key deleted during a read does not come back with its result', async (test) => {
  const { ring, started, answer } = startAnswered(test);
  ring.remove('gone');
  await answer([aKey('gone')]);
  // The keys that were read are older than the change, so the ring reads again.
  await answer([]);
  await started;
  assert.deepEqual(ring.find('gone'), []);
});

test('key ring: a key added during a read stays', async (test) => {
  const { ring, started, answer } = startAnswered(test);
  ring.put(aKey('new'));
  await answer([]);
  await answer([aKey('new')]);
  await started;
  assert.equal(ring.find('new')[0]?.principal.keyId, 'new');
});

test('key ring: removing a key ends its streams and no others', async (test) => {
  const ring = createKeyRing({
    store: readOf(async () => [aKey('one'), aKey('two')]),
    ...time,
    staleAfterMs: 30_000,
    log: silentLog,
  });
  test.after(() => ring.stop());
  await ring.start();
  const [one, two] = ['one', 'two'].map((id) => ring.find(id)[0]?.principal.ended);
  ring.remove('one');
  assert.deepEqual([one?.aborted, two?.aborted], [true, false]);
});

test('key ring: start fails if the store cannot be read', async () => {
  const apiKeys = () => Promise.reject(new Error('no disk'));
  await assert.rejects(createKeyRing({ store: readOf(apiKeys), ...time, staleAfterMs: 30_000, log: silentLog }).start(), /no disk/);
});

for (const [how, fail] of [
  ['fails', () => Promise.reject(new Error('gone'))],
  ['hangs', () => new Promise<never>(() => undefined)],
] as const) {
  test(`key ring: a database that ${how} ends the streams of all keys, which are accepted again once it is read`, async (test) => {
    let nowMs = 0;
    const timers: { readonly atMs: number; readonly task: () => void }[] = [];
    const after = (ms: number, task: () => void) => {
      const timer = { atMs: nowMs + ms, task };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), timers.includes(timer) ? 1 : 0);
    };
    const passTo = (ms: number) => {
      nowMs = ms;
      for (const timer of timers.filter(({ atMs }) => atMs <= ms)) {
        timers.splice(timers.indexOf(timer), 1);
        timer.task();
      }
    };
    let read: () => Promise<readonly ApiKey[]> = async () => [aKey('one')];
    const ring = createKeyRing({
      store: readOf(() => read()),
      clock: { nowMs: () => nowMs, elapsedMs: () => nowMs },
      timers: { after },
      staleAfterMs: 30_000,
      log: silentLog,
    });
    test.after(() => (how === 'fails' ? ring.stop() : undefined));
    await ring.start();
    const ended = ring.find('one')[0]?.principal.ended;
    read = fail;
    ring.readAgain();
    passTo(29_999);
    assert.equal(ring.find('one')[0]?.principal.keyId, 'one');
    assert.equal(ended?.aborted, false);
    passTo(30_000);
    assert.throws(() => ring.find('one'), { kind: 'unavailable', reason: 'SERVICE_UNAVAILABLE' });
    assert.throws(() => ring.find('unknown'), { kind: 'unavailable' });
    assert.equal(ended?.aborted, true);
    assert.equal(ended.reason.reason, 'SERVICE_UNAVAILABLE');
    if (how === 'hangs') return;
    await new Promise((resolve) => setImmediate(resolve));
    read = async () => [aKey('one')];
    ring.readAgain();
    while (timers.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(ring.find('one')[0]?.principal.ended?.aborted, false);
  });
}

test('key ring: an outage is logged once, keeps the keys, and the next one is logged again', async (test) => {
  const logged: string[] = [];
  const log = { ...silentLog, error: (_: object, message: string) => void logged.push(message) };
  let reads = 0;
  let isAway = false;
  const apiKeys = async () => {
    reads += 1;
    if (isAway) throw new Error('no disk');
    return [aKey('one')];
  };
  const ring = createKeyRing({ store: readOf(apiKeys), ...time, staleAfterMs: 30_000, log });
  test.after(() => ring.stop());
  await ring.start();
  const readTwice = async () => {
    for (let count = 0; count < 2; count += 1) {
      const before = reads;
      ring.readAgain();
      await waitFor('a read', () => (reads > before ? true : undefined));
    }
  };
  for (const outages of [1, 2]) {
    isAway = true;
    await readTwice();
    await waitFor('the line', () => (logged.length === outages ? true : undefined));
    assert.equal(ring.find('one').length, 1);
    isAway = false;
    await readTwice();
  }
  assert.deepEqual(
    new Set(logged),
    new Set(['cannot read API keys; the known keys stay valid for ACCESS_STALE_AFTER_SECONDS after the last read']),
  );
});

for (const [what, over] of [
  ['an expired key', { expiresAtMs: 1_000 }],
  ['a former secret', { digest: 'new', formerSecrets: [{ digest: 'old', validUntilMs: 1_000 }] }],
] as const) {
  test(`key ring: ${what} ends its streams at its time, also while the database hangs`, async (test) => {
    test.mock.timers.enable({ apis: ['setTimeout'] });
    let nowMs = 999;
    let read = async (): Promise<readonly ApiKey[]> => [{ ...aKey('one'), ...over }, aKey('two')];
    const ring = createKeyRing({
      store: readOf(() => read()),
      ...time,
      clock: { ...time.clock, nowMs: () => nowMs },
      staleAfterMs: 30_000,
      log: silentLog,
    });
    await ring.start();
    read = () => new Promise(() => undefined);
    const [one, two] = [ring.find('one').at(-1)?.principal.ended, ring.find('two')[0]?.principal.ended];
    const pass = async () => {
      test.mock.timers.tick(1_000);
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    for (let second = 0; second < 3; second += 1) await pass();
    assert.equal(one?.aborted, false);
    nowMs = 1_000;
    await pass();
    assert.deepEqual([one?.aborted, two?.aborted], [true, false]);
    if (what === 'a former secret') assert.equal(ring.find('one')[0]?.principal.ended?.aborted, false, 'the newest goes on');
  });
}

test('key ring: a rotation here or elsewhere keeps the streams of the secrets that stay valid, and ends the others', async (test) => {
  const rotated = (key: ApiKey, digest: string, keeps: boolean): ApiKey => {
    const formerSecrets = keeps ? [{ digest: key.digest, validUntilMs: 9e12 }, ...key.formerSecrets] : [];
    return { ...key, digest, formerSecrets };
  };
  let stored = { ...aKey('one'), digest: 'first' };
  let reads = 0;
  const apiKeys = async () => {
    reads += 1;
    return [stored];
  };
  const ring = createKeyRing({ store: readOf(apiKeys), ...time, staleAfterMs: 30_000, log: silentLog });
  test.after(() => ring.stop());
  await ring.start();
  const held = () => ring.find('one').map(({ digest, principal }) => [digest, principal.name, principal.expiresAtMs]);
  const endOf = (digest: string) => ring.find('one').find((secret) => secret.digest === digest)?.principal.ended;
  const first = endOf('first');
  stored = rotated(stored, 'second', true);
  ring.put(stored);
  const former = (digest: string) => [digest, 'one (former secret)', 9e12];
  assert.deepEqual(held(), [['second', 'one', null], former('first')]);
  const second = endOf('second');
  stored = rotated(stored, 'third', true);
  ring.readAgain();
  await waitFor('the third secret', () => (endOf('third') !== undefined ? true : undefined));
  assert.deepEqual(held(), [['third', 'one', null], former('second'), former('first')]);
  assert.equal(endOf('first'), first);
  assert.deepEqual([first?.aborted, second?.aborted], [false, false]);
  const [before] = [reads, ring.readAgain()];
  await waitFor('a read', () => (reads > before ? true : undefined));
  stored = rotated(stored, 'fourth', false);
  const third = endOf('third');
  ring.put(stored);
  assert.deepEqual(held(), [['fourth', 'one', null]]);
  assert.deepEqual([first?.aborted, second?.aborted, third?.aborted, endOf('fourth')?.aborted], [true, true, true, false]);
});

test('key ring: the use of a key is stored once a minute, by whichever instance is first, and a write that fails or hangs holds nothing up', async (test) => {
  let nowMs = 1_000_000;
  test.mock.timers.enable({ apis: ['setTimeout'] });
  const stored = new Map<string, number | null>([
    ['one', null],
    ['two', null],
  ]);
  const writes: string[] = [];
  let fails: 'no' | 'fails' | 'hangs' = 'no';
  const ring = createKeyRing({
    store: {
      read: { apiKeys: async () => [...stored].map(([id, lastUsedAtMs]) => ({ ...aKey(id), lastUsedAtMs })) },
      change: { noteApiKeyUse: (id: string, atMs: number) => ({ name: 'noteApiKeyUse', id, atMs }) as never },
      async commit(changes) {
        if (fails === 'fails') throw new Error('disk full');
        if (fails === 'hangs') return new Promise(() => undefined) as never;
        for (const { id, atMs } of changes as unknown as { id: string; atMs: number }[]) {
          writes.push(`${id} ${atMs}`);
          stored.set(id, atMs);
        }
        return [] as never;
      },
    },
    clock: { nowMs: () => nowMs, elapsedMs: () => nowMs - 999_000 },
    timers: { after: () => () => undefined },
    staleAfterMs: 30_000,
    log: silentLog,
  });
  await ring.start();
  const settle = async () => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      nowMs += 1_000;
      test.mock.timers.tick(1_000);
      await settle();
    }
  };
  await pass(60_000);
  assert.deepEqual(writes, [], 'no key was used');
  for (let call = 0; call < 100; call += 1) ring.find('one')[0]?.noteUse();
  await pass(10_000);
  assert.deepEqual(writes.splice(0), ['one 1060000']);
  for (let second = 0; second < 120; second += 1) {
    ring.find('one')[0]?.noteUse();
    await pass(1_000);
  }
  assert.equal(writes.splice(0).length, 2, 'two minutes of calls');
  stored.set('two', nowMs);
  await pass(10_000);
  ring.find('two')[0]?.noteUse();
  await pass(10_000);
  assert.deepEqual(writes, [], 'another instance has just stored a use');
  fails = 'fails';
  await pass(60_000);
  ring.find('one')[0]?.noteUse();
  const usedAtMs = nowMs;
  await pass(60_000);
  assert.equal(ring.find('one').length, 1);
  fails = 'no';
  await pass(10_000);
  assert.deepEqual(writes.splice(0), [`one ${usedAtMs}`], 'stored with the time of the use once the store can be written');
  fails = 'hangs';
  await pass(60_000);
  ring.find('one')[0]?.noteUse();
  await pass(120_000);
  assert.equal(ring.find('one').length, 1);
});
