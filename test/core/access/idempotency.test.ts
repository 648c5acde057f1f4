import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createIdempotency, startStoredResponseCleaner } from '../../../src/core/access/idempotency.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { type StoredResponseKey, storedResponseLifeMs } from '../../../src/core/records/stored-response.js';
import { openStore } from '../../../src/storage/open-store.js';
import { silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { waitFor } from '../../support/wait-for.js';

const key: StoredResponseKey = { keyId: 'k', method: '/s/M', idempotencyKey: 'one' };
const response = new Uint8Array([0, 1, 255]);

async function openIdempotency(test: TestContext) {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  test.after(() => store.close());
  const clock = { ms: 1_763_600_000_000, nowMs: () => clock.ms, startOfLifeMs: () => clock.ms };
  const { begin } = createIdempotency({ store, clock });
  /** Runs a call and returns its answer, or why it did not run. */
  const call = async (fingerprint: string | null, of: StoredResponseKey = key, answer: Uint8Array = response) => {
    try {
      const begun = await begin(of, fingerprint);
      if (begun.replay !== null) return ['replay', ...begun.replay];
      await store.commit([begun.save(answer)]);
      begun.end();
      return 'ran';
    } catch (error) {
      return error instanceof DomainError ? `${error.kind} ${error.reason}` : error;
    }
  };
  return { store, clock, begin, call };
}

describe('idempotency', () => {
  it('idempotency: runs a call once, then replays its response', async (test) => {
    const { call } = await openIdempotency(test);
    assert.equal(await call('f'), 'ran');
    for (let again = 0; again < 3; again++) assert.deepEqual(await call('f'), ['replay', 0, 1, 255]);
  });

  it('idempotency: runs one of many concurrent calls and rejects the others', async (test) => {
    const { call } = await openIdempotency(test);
    const told = await Promise.all(Array.from({ length: 50 }, () => call('f')));
    assert.equal(told.filter((one) => one === 'ran').length, 1);
    assert.equal(told.filter((one) => one === 'aborted IDEMPOTENCY_KEY_RUNNING').length, 49);
    // After it has ended, no caller gets the error of a running call, even if many call at once.
    const later = await Promise.all(Array.from({ length: 50 }, () => call('f')));
    assert.deepEqual(
      later,
      later.map(() => ['replay', 0, 1, 255]),
    );
  });

  it('idempotency: rejects another payload under the key, and one that is never accepted', async (test) => {
    const { call } = await openIdempotency(test);
    await call('f');
    assert.equal(await call('g'), 'unprocessable IDEMPOTENCY_KEY_REUSED');
    assert.equal(await call(null), 'unprocessable IDEMPOTENCY_KEY_REUSED');
    assert.deepEqual(await call('f'), ['replay', 0, 1, 255]);
  });

  it('idempotency: separates callers, methods and keys', async (test) => {
    const { call } = await openIdempotency(test);
    const others = [key, { ...key, keyId: 'other' }, { ...key, method: '/s/Other' }, { ...key, idempotencyKey: 'ONE' }];
    for (const [index, other] of others.entries()) assert.equal(await call('f', other, new Uint8Array([index])), 'ran');
    for (const [index, other] of others.entries()) assert.deepEqual(await call('f', other), ['replay', index]);
  });

  it('idempotency: a running call delays no call of another caller, method or key', async (test) => {
    const { begin, call } = await openIdempotency(test);
    const running = await begin(key, 'f');
    for (const other of [
      { ...key, keyId: 'other' },
      { ...key, method: '/s/Other' },
      { ...key, idempotencyKey: 'ONE' },
    ])
      assert.equal(await call('f', other), 'ran');
    assert.equal(await call('f'), 'aborted IDEMPOTENCY_KEY_RUNNING');
    running.end();
  });

  it('idempotency: frees the key after a call that stored nothing', async (test) => {
    const { begin, call } = await openIdempotency(test);
    const begun = await begin(key, null);
    assert.equal(await call('f'), 'aborted IDEMPOTENCY_KEY_RUNNING');
    assert.equal(begun.replay, null);
    assert.throws(() => begun.save(response), /a payload that cannot be accepted was accepted/);
    begun.end();
    assert.equal(await call('g'), 'ran');
  });

  it('idempotency: keeps the key of a running call when a replay ends', async (test) => {
    const { clock, begin, call } = await openIdempotency(test);
    await call('f');
    const replayed = await begin(key, 'f');
    clock.ms += storedResponseLifeMs;
    const running = await begin(key, 'f');
    assert.equal(running.replay, null);
    replayed.end();
    assert.equal(await call('f'), 'aborted IDEMPOTENCY_KEY_RUNNING');
    running.end();
    assert.equal(await call('f'), 'ran');
  });

  it('idempotency: frees the key if the store cannot be read', async (test) => {
    const { store, clock } = await openIdempotency(test);
    let broken = true;
    const read = {
      storedResponse: (...asked: Parameters<typeof store.read.storedResponse>) =>
        broken ? Promise.reject(new Error('gone')) : store.read.storedResponse(...asked),
    };
    const { begin } = createIdempotency({ store: { ...store, read }, clock });
    const results = await Promise.allSettled([begin(key, 'f'), begin(key, 'f')]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    broken = false;
    assert.equal((await begin(key, 'f')).replay, null);
  });

  it('idempotency: forgets a response after 24 hours and stores the next one', async (test) => {
    const { clock, call } = await openIdempotency(test);
    assert.equal(storedResponseLifeMs, 86_400_000);
    await call('f');
    clock.ms += storedResponseLifeMs - 1;
    assert.deepEqual(await call('f'), ['replay', 0, 1, 255]);
    clock.ms += 1;
    assert.equal(await call('g', key, new Uint8Array([7])), 'ran');
    assert.deepEqual(await call('g'), ['replay', 7]);
    assert.equal(await call('f'), 'unprocessable IDEMPOTENCY_KEY_REUSED');
  });
});

describe('stored response cleaner', () => {
  it('stored response cleaner: writes nothing while nothing has expired', async (test) => {
    const { store, clock } = await openIdempotency(test);
    let commits = 0;
    let reads = 0;
    const read = {
      ...store.read,
      async firstStoredResponseExpiryMs() {
        reads += 1;
        return undefined;
      },
    };
    const commit = async () => {
      commits += 1;
    };
    const cleaner = startStoredResponseCleaner({ store: { ...store, read, commit }, clock, log: silentLog });
    await waitFor('a look at an empty store', () => (reads > 0 ? true : undefined));
    await cleaner.stop();
    assert.deepEqual([reads, commits], [1, 0]);
  });

  it('stored response cleaner: deletes all expired responses at its start, and nothing else', async (test) => {
    const { store, clock } = await openIdempotency(test);
    const put = (number: number, expiresAtMs: number) =>
      store.change.putStoredResponse({ ...key, idempotencyKey: `${number}`, fingerprint: 'f', response, expiresAtMs }, 0);
    await store.commit(Array.from({ length: 1000 }, (_, number) => put(number, clock.ms - (number % 500))));
    await store.commit([put(1000, clock.ms + 1), put(1001, clock.ms + 2)]);
    const cleaner = startStoredResponseCleaner({ store, clock, log: silentLog });
    await waitFor('the expired ones to be gone', async () =>
      (await store.read.firstStoredResponseExpiryMs()) === clock.ms + 1 ? true : undefined,
    );
    await cleaner.stop();
    assert.notEqual(await store.read.storedResponse({ ...key, idempotencyKey: '1000' }, clock.ms), undefined);
    assert.equal(await store.read.storedResponse({ ...key, idempotencyKey: '999' }, 0), undefined);
  });
});
