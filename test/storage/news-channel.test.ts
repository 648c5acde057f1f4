import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allNews } from '../../src/core/ports/news.js';
import { createNewsBag, type Message, readMessage } from '../../src/storage/postgres/news-channel.js';
import { BoundChange } from '../../src/storage/sql/bound-change.js';

const change = (name: string) => new BoundChange(name, []);
const changeOf = (relayerId: string) => new BoundChange('updateTransaction', { countedFor: relayerId, stepsAt: () => [] });

/** What the next message tells. */
function takenFrom(bag: ReturnType<typeof createNewsBag>): Message {
  return readMessage(bag.take(7) ?? assert.fail('there is no message'));
}

const nothing = { relayers: new Set<string>(), hasEvents: false, hasDefinitions: false };

describe('what an instance tells the others', () => {
  it('is nothing if nothing was added, or if it was taken', () => {
    const bag = createNewsBag();
    assert.equal(bag.take(7), null);
    bag.addChanges([change('confirmTime')]);
    assert.equal(bag.take(7), null);
    bag.addLeases();
    assert.notEqual(bag.take(7), null);
    assert.equal(bag.take(7), null);
  });

  it('names the relayers whose transactions changed, each once', () => {
    const bag = createNewsBag();
    bag.addChanges([changeOf('a'), changeOf('b'), changeOf('a')]);
    assert.deepEqual(takenFrom(bag), { from: 7, news: { ...nothing, relayers: new Set(['a', 'b']) }, hasLeases: false });
  });

  for (const name of ['insertEvent', 'redeliverEvent'])
    it(`says that there are events after ${name}`, () => {
      const bag = createNewsBag();
      bag.addChanges([change(name)]);
      assert.deepEqual(takenFrom(bag), { from: 7, news: { ...nothing, hasEvents: true }, hasLeases: false });
    });

  for (const name of ['moveDefinitions', 'insertApiKey', 'deleteApiKey'])
    it(`says that definitions changed after ${name}`, () => {
      const bag = createNewsBag();
      bag.addChanges([change(name)]);
      assert.deepEqual(takenFrom(bag), { from: 7, news: { ...nothing, hasDefinitions: true }, hasLeases: false });
    });

  it('says that leases changed, apart from all news', () => {
    const bag = createNewsBag();
    bag.addLeases();
    assert.deepEqual(takenFrom(bag), { from: 7, news: nothing, hasLeases: true });
    bag.addAll();
    bag.addChanges([changeOf('a')]);
    assert.deepEqual(takenFrom(bag), { from: 7, news: allNews, hasLeases: false });
  });

  it('names no relayers if their ids do not fit into a notification of PostgreSQL', () => {
    const bag = createNewsBag();
    bag.addChanges(Array.from({ length: 400 }, (_, index) => changeOf(`relayer-with-a-long-id-${index}`)));
    const text = bag.take(7) ?? '';
    assert.ok(Buffer.byteLength(text) < 8_000);
    assert.deepEqual(readMessage(text).news, { ...nothing, relayers: 'all' });
  });

  it('counts bytes, not characters', () => {
    const bag = createNewsBag();
    bag.addChanges(Array.from({ length: 60 }, (_, index) => changeOf('é'.repeat(60) + index)));
    assert.ok(Buffer.byteLength(bag.take(7) ?? '') < 8_000);
  });

  for (const text of ['', '{', '{}', '{"from":"2"}', 'null'])
    it(`is everything if the message cannot be read: ${text || 'an empty one'}`, () => {
      assert.deepEqual(readMessage(text), { from: 0, news: allNews, hasLeases: true });
    });
});
