import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Lease } from '../../../src/core/ports/shared-database.js';
import { createLeaseView } from '../../../src/engine/leases/lease-view.js';

const partCount = 8;

/** 8 parts of leases that `me` reads; `reads` are the parts of each read. */
function startView(size: number) {
  const stored = new Map<string, Lease & { readonly part: number }>();
  const set = (index: number, holder: number | null) =>
    stored.set(`key-${index}`, { kind: 'lane', key: `key-${index}`, holder, note: null, part: index % partCount });
  for (let index = 0; index < size; index += 1) set(index, index % 2);
  const reads: (readonly [number, number])[] = [];
  const view = createLeaseView(
    {
      async parts() {
        const parts = new Map<number, { count: number; digest: string }>();
        for (const { part, key, holder } of stored.values()) {
          const { count, digest } = parts.get(part) ?? { count: 0, digest: '' };
          parts.set(part, { count: count + 1, digest: `${digest} ${key} ${holder}` });
        }
        return parts;
      },
      async ofParts(first, last) {
        reads.push([first, last]);
        return [...stored.values()].filter(({ part }) => part >= first && part <= last);
      },
    },
    { elapsedMs: () => 0 },
  );
  const read = async () => {
    reads.length = 0;
    await view.read();
    return [...reads];
  };
  return { view, stored, set, read };
}

describe('the view of the leases', () => {
  it('reads at most about 1,000 leases at once, and each once', async () => {
    const { view, read } = startView(4_000);
    assert.deepEqual(await read(), [
      [0, 1],
      [2, 3],
      [4, 5],
      [6, 7],
    ]);
    assert.deepEqual([view.count('lane'), view.held('lane').get(0), view.held('lane').get(1)], [4_000, 2_000, 2_000]);
  });

  it('reads again only the parts whose leases have changed, were added or are gone', async () => {
    const { view, stored, set, read } = startView(80);
    await read();
    assert.deepEqual(await read(), []);
    set(3, 7);
    assert.deepEqual(await read(), [[3, 3]]);
    assert.deepEqual([view.holder('lane', 'key-3'), view.held('lane').get(1), view.held('lane').get(7)], [7, 39, 1]);
    set(80, null);
    stored.delete('key-1');
    assert.deepEqual(await read(), [[0, 1]]);
    assert.deepEqual([view.holder('lane', 'key-80'), view.holder('lane', 'key-1'), view.count('lane')], [null, undefined, 80]);
    for (const { key, part } of stored.values()) if (part === 5) stored.delete(key);
    await read();
    assert.equal(view.count('lane'), 70);
    assert.deepEqual(await read(), []);
  });

  it('shows a lease that was given up as free, and reads it again, since giving it up may have failed', async () => {
    const { view, read } = startView(16);
    await read();
    view.givenUp('lane', 'key-3', 1);
    assert.deepEqual([view.holder('lane', 'key-3'), view.held('lane').get(1)], [null, 7]);
    assert.deepEqual(await read(), [[3, 3]]);
    assert.deepEqual([view.holder('lane', 'key-3'), view.held('lane').get(1)], [1, 8]);
    // While it is read.
    const reading = view.read();
    view.givenUp('lane', 'key-3', 1);
    await reading;
    assert.equal(view.holder('lane', 'key-3'), null);
    assert.deepEqual(await read(), [[3, 3]]);
  });
});
