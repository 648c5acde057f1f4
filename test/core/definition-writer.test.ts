import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createDefinitionWriter } from '../../src/core/definition-writer.js';
import { type Definition, type Store, StoreAwayError } from '../../src/core/ports/store.js';
import { openStore } from '../../src/storage/open-store.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const definition: Definition = { kind: 'network', id: 'evm:n', content: { a: 1 }, sealed: 'sealed' };

/** A store whose next commit gets no answer, whether it is written or not. */
async function writerOn(isWritten: boolean) {
  const { store: opened } = await openStore(`sqlite:${await temporaryFolder()}/relayer.db`, { log: silentLog });
  let isAnswered = false;
  const store: Store = {
    ...opened,
    async commit(changes) {
      if (isAnswered || isWritten) await opened.commit(changes);
      if (isAnswered) return;
      isAnswered = true;
      throw new StoreAwayError('no answer');
    },
  };
  const calls: string[] = [];
  const effect = { apply: () => void calls.push('apply'), undo: () => void calls.push('undo') };
  const writer = createDefinitionWriter(store);
  return { store: opened, writer, calls, effect };
}

for (const [isWritten, expected] of [
  [true, 'apply'],
  [false, 'undo'],
] as const) {
  it(`definition writer: a commit without an answer that is ${isWritten ? '' : 'not '}written calls only ${expected}, once, when it is settled`, async () => {
    const { store, writer, calls, effect } = await writerOn(isWritten);
    await assert.rejects(writer.commit([definition], [], effect), StoreAwayError);
    assert.deepEqual(calls, []);
    await writer.settle();
    await writer.settle();
    assert.deepEqual(calls, [expected]);
    await store.close();
  });

  it(`definition writer: a deletion without an answer that is ${isWritten ? '' : 'not '}written calls only ${expected}`, async () => {
    const { store, writer, calls, effect } = await writerOn(isWritten);
    await store.commit([store.change.putDefinition(definition)]);
    await assert.rejects(writer.commit([{ kind: 'network', id: 'evm:n' }], [], effect), StoreAwayError);
    await writer.settle();
    assert.deepEqual(calls, [expected]);
    await store.close();
  });
}
