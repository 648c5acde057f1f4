import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allNews, type Message, type News } from '../../../src/core/ports/news.js';
import { createNewsSender, type NewsSender } from '../../../src/engine/leases/news-sender.js';

const nothing: News = { relayers: new Set(), hasEvents: false, hasDefinitions: false };
const newsOf = (...relayers: string[]): News => ({ ...nothing, relayers: new Set(relayers) });

/** A sender whose pauses end at once, and the messages that it has sent; the first `failures` of them fail. */
function startSender(test: { after(task: () => void): void }, failures = 0) {
  const closing = new AbortController();
  test.after(() => closing.abort());
  const sent: Message[] = [];
  const failed: Message[] = [];
  const sender: NewsSender = createNewsSender({
    me: () => 7,
    observer: () => ({
      async tell(message) {
        if (failed.length < failures) {
          failed.push(message);
          throw new Error('the connection is lost');
        }
        sent.push(message);
      },
    }),
    timers: {
      after(_, task) {
        const immediate = setImmediate(task);
        return () => clearImmediate(immediate);
      },
    },
    closing: closing.signal,
  });
  async function send(): Promise<readonly Message[]> {
    sender.send();
    for (let turns = 0; turns < 5; turns += 1) await new Promise(setImmediate);
    return sent.splice(0);
  }
  return { sender, send };
}

describe('what an instance tells the others', () => {
  it('is nothing if nothing was added, or if it was sent', async (test) => {
    const { sender, send } = startSender(test);
    assert.deepEqual(await send(), []);
    sender.add(nothing);
    assert.deepEqual(await send(), []);
    sender.addLeases();
    assert.equal((await send()).length, 1);
    assert.deepEqual(await send(), []);
  });

  it('is one message about everything that was added', async (test) => {
    const { sender, send } = startSender(test);
    sender.add(newsOf('a', 'b'));
    sender.add({ ...newsOf('b', 'c'), hasEvents: true });
    assert.deepEqual(await send(), [{ from: 7, news: { ...newsOf('a', 'b', 'c'), hasEvents: true }, hasLeases: false }]);
  });

  it('says that leases changed, apart from all news', async (test) => {
    const { sender, send } = startSender(test);
    sender.addLeases();
    assert.deepEqual(await send(), [{ from: 7, news: nothing, hasLeases: true }]);
    sender.add(allNews);
    sender.add(newsOf('a'));
    assert.deepEqual(await send(), [{ from: 7, news: allNews, hasLeases: false }]);
  });

  it('is everything after a message that failed', async (test) => {
    const { sender, send } = startSender(test, 1);
    sender.add(newsOf('a'));
    assert.deepEqual(await send(), []);
    assert.deepEqual(await send(), [{ from: 7, news: allNews, hasLeases: false }]);
  });
});
