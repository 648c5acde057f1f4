import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import {
  createDefinitionWriter,
  type DefinitionWrite,
  type StoredDefinitions,
  startFollowing,
} from '../../../src/core/definitions/definition-writer.js';
import { StoreAwayError } from '../../../src/core/ports/store/change.js';
import type { Store } from '../../../src/core/ports/store/store.js';
import type { Definition } from '../../../src/core/records/definition.js';
import { openStore } from '../../../src/storage/open-store.js';
import { silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { waitFor } from '../../support/wait-for.js';

const definition: Definition = { kind: 'network', id: 'evm:n', content: { a: 1 }, sealed: 'sealed' };

async function openedStore(test: TestContext): Promise<Store> {
  const { store } = await openStore(`sqlite:${await temporaryFolder()}/relayer.db`, { log: silentLog });
  test.after(() => store.close());
  return store;
}

/** A writer, and what it did to the memory in order. `fails`: showing throws. */
function writerOn(store: Store) {
  const calls: string[] = [];
  const failing = { fails: false };
  const show = async (stored: StoredDefinitions | readonly DefinitionWrite[]): Promise<void> => {
    if (failing.fails) throw new Error('it cannot be opened');
    const [what, some] = 'version' in stored ? ['all', stored.network] : ['written', stored];
    calls.push(`shows ${what} ${some.map(({ id }) => id).join()}`);
  };
  const writer = createDefinitionWriter({ store, version: 0, show });
  const put = (one = definition) => writer.exclusively(() => writer.commit([one], []));
  return { writer, calls, put, failing };
}

for (const isWritten of [true, false]) {
  it(`definition writer: after a commit without an answer that is ${isWritten ? '' : 'not '}written, the memory shows what is stored`, async (test) => {
    const opened = await openedStore(test);
    let isAnswered = false;
    const { writer, calls, put } = writerOn({
      ...opened,
      async commit(changes) {
        if (isAnswered || isWritten) await opened.commit(changes);
        if (isAnswered) return;
        isAnswered = true;
        throw new StoreAwayError('no answer');
      },
    });
    await assert.rejects(put(), StoreAwayError);
    assert.deepEqual(calls, []);
    await writer.follow();
    await writer.follow();
    assert.deepEqual(calls, [isWritten ? 'shows all evm:n' : 'shows all ']);
  });
}

it('definition writer: what it wrote itself is no change to follow', async (test) => {
  const { writer, calls, put } = writerOn(await openedStore(test));
  await put();
  await writer.follow();
  assert.deepEqual(calls, ['shows written evm:n']);
});

it('definition writer: work that another writer overtakes sees its change and runs again', async (test) => {
  const store = await openedStore(test);
  const [one, other] = [writerOn(store), writerOn(store)];
  let rounds = 0;
  await one.writer.exclusively(async () => {
    rounds += 1;
    if (rounds === 1) await other.put({ ...definition, id: 'evm:other' });
    await one.writer.commit([definition], []);
  });
  assert.equal(rounds, 2);
  assert.deepEqual(one.calls, ['shows all evm:other', 'shows written evm:n']);
  await other.writer.follow();
  assert.deepEqual(other.calls, ['shows written evm:other', 'shows all evm:other,evm:n']);
});

it('definition writer: while a stored definition cannot be shown, no work runs, and following tries again', async (test) => {
  const store = await openedStore(test);
  const [one, other] = [writerOn(store), writerOn(store)];
  await other.put();
  one.failing.fails = true;
  await assert.rejects(one.put({ ...definition, id: 'evm:late' }), /it cannot be opened/);
  const errors: string[] = [];
  const following = startFollowing(one.writer, { error: (_fields, message) => void errors.push(message) });
  test.after(() => following.stop());
  following.look();
  following.look();
  await waitFor('the error', () => errors[0]);
  one.failing.fails = false;
  await waitFor('the definition', () => one.calls[0]);
  assert.deepEqual(
    [errors, one.calls],
    [['cannot apply relayers, signers, networks or plugins changed by another instance; retrying'], ['shows all evm:n']],
  );
});

it('definition writer: what was stored and could not be shown is shown with everything else', async (test) => {
  const { writer, calls, put, failing } = writerOn(await openedStore(test));
  failing.fails = true;
  await assert.rejects(put(), /it cannot be opened/);
  failing.fails = false;
  await writer.follow();
  assert.deepEqual(calls, ['shows all evm:n']);
});
