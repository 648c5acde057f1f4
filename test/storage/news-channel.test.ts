import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allNews, type Message, type News } from '../../src/core/ports/news.js';
import { newsOf, payloadOf, readMessage } from '../../src/storage/postgres/news-channel.js';
import { BoundChange, type ChangeName } from '../../src/storage/sql/bound-change.js';

const change = (name: ChangeName) => new BoundChange(name, []);
const changeOf = (relayerId: string) => new BoundChange('updateTransaction', [], relayerId);

const nothing: News = { relayers: new Set(), hasEvents: false, hasDefinitions: false };

describe('the news of a commit', () => {
  it('are none if it changes nothing that others look at', () => {
    assert.deepEqual(newsOf([change('confirmTime')]), nothing);
  });

  it('names the relayers whose transactions changed, each once', () => {
    assert.deepEqual(newsOf([changeOf('a'), changeOf('b'), changeOf('a')]), { ...nothing, relayers: new Set(['a', 'b']) });
  });

  for (const name of ['insertEvent', 'redeliverEvent'] as const)
    it(`says that there are events after ${name}`, () => {
      assert.deepEqual(newsOf([change(name)]), { ...nothing, hasEvents: true });
    });

  for (const name of ['moveDefinitions', 'insertApiKey', 'setApiKeySecrets', 'deleteApiKey'] as const)
    it(`says that definitions changed after ${name}`, () => {
      assert.deepEqual(newsOf([change(name)]), { ...nothing, hasDefinitions: true });
    });
});

describe('the payload of a message', () => {
  const messageOf = (ids: readonly string[]): Message => ({ from: 7, news: { ...nothing, relayers: new Set(ids) }, hasLeases: false });

  for (const message of [messageOf([]), messageOf(['a', 'b']), { from: 7, news: allNews, hasLeases: true }])
    it(`is read as it was sent: ${payloadOf(message)}`, () => {
      assert.deepEqual(readMessage(payloadOf(message)), message);
    });

  it('names no relayers if their ids do not fit into a notification of PostgreSQL', () => {
    const text = payloadOf(messageOf(Array.from({ length: 400 }, (_, index) => `relayer-with-a-long-id-${index}`)));
    assert.ok(Buffer.byteLength(text) < 8_000);
    assert.deepEqual(readMessage(text).news, { ...nothing, relayers: 'all' });
  });

  it('counts bytes, not characters', () => {
    const text = payloadOf(messageOf(Array.from({ length: 60 }, (_, index) => 'é'.repeat(60) + index)));
    assert.ok(Buffer.byteLength(text) < 8_000);
  });

  for (const text of ['', '{', '{}', '{"from":"2"}', 'null'])
    it(`is everything if the message cannot be read: ${text || 'an empty one'}`, () => {
      assert.deepEqual(readMessage(text), { from: 0, news: allNews, hasLeases: true });
    });
});
