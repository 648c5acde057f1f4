import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';
import { type Watcher, watchersByName } from '../support/watchers.js';

const transfer = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1' };
const finals = new Set(['CONFIRMED', 'FAILED', 'EXPIRED', 'CANCELED']);
/** Each has five or more changes. */
const sends = 220;
const cutEvery = 50;

describe('a watch that is cut and resumed', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;

  before(async () => {
    anvil = await startAnvil({ blockTime: 1 });
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    service = await startService(home);
  });

  after(async () => {
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  async function send(count: number): Promise<readonly string[]> {
    const ids: string[] = [];
    while (ids.length < count) {
      const { status, text, body } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', transfer);
      assert.equal(status, 200, text);
      ids.push(body.data.id);
    }
    return ids;
  }

  it(`1,000 changes with the stream cut every ${cutEvery} messages: every client misses none, and none is out of order`, async () => {
    const followers = Object.entries(watchersByName).map(([name, create]) => {
      const watcher = create(service.baseUrl);
      return { name, follower: createFollower(() => watcher), close: () => watcher.close() };
    });
    // The token of the empty relayer: everything comes after it.
    for (const { follower } of followers) await follower.readUntil(({ isComplete }) => isComplete);
    const sending = send(sends);
    const reading = followers.map(({ follower }) => follower.readUntil(({ ended }) => ended.size === sends));
    const sent = new Set(await sending);
    await Promise.all(reading);
    for (const { name, follower, close } of followers) {
      close();
      assert.deepEqual([name, follower.ended], [name, sent]);
      const changes = [...follower.revisions.values()].reduce((sum, revision) => sum + revision, 0);
      assert.ok(changes >= 1_000, `there were ${changes} changes`);
    }
  });

  it('SIGKILL between two messages: the token is valid after the restart, and what became final meanwhile is delivered', async () => {
    let watcher = watchersByName['grpc-js']?.(service.baseUrl) ?? assert.fail();
    const follower = createFollower(() => watcher);
    await follower.readUntil(({ isComplete }) => isComplete);
    const ids = await send(20);
    await follower.readUntil(({ revisions }) => ids.some((id) => revisions.has(id)));
    await service.kill();
    watcher.close();
    service = await startService(home);
    await waitFor('all to be confirmed while nobody watches', async () => {
      const { body } = await rest(service.baseUrl, 'GET', '/relayers/r1/transactions?per_page=20');
      return body.data.every(({ status }: { status: string }) => status === 'confirmed') ? true : undefined;
    });
    watcher = watchersByName['grpc-js']?.(service.baseUrl) ?? assert.fail();
    await follower.readUntil(({ ended }) => ids.every((id) => ended.has(id)));
    for (const id of ids) {
      const { body } = await rest(service.baseUrl, 'GET', `/relayers/r1/transactions/${id}`);
      assert.equal(follower.revisions.get(id), body.data.revision);
    }
    watcher.close();
  });
});

/** What a reader has seen of the relayer's transactions. */
interface Progress {
  /** The last revision of each transaction. */
  readonly revisions: ReadonlyMap<string, number>;
  /** The transactions seen in a final status. */
  readonly ended: ReadonlySet<string>;
  /** True after all existing records were delivered. */
  readonly isComplete: boolean;
}

interface Follower extends Progress {
  /** Watches from the last token on, and starts again every `cutEvery` messages. */
  readUntil(isDone: (progress: Progress) => boolean): Promise<void>;
}

function createFollower(watcher: () => Watcher): Follower {
  const revisions = new Map<string, number>();
  const ended = new Set<string>();
  let resumeToken = '';
  const follower = {
    revisions,
    ended,
    isComplete: false,
    async readUntil(isDone: (progress: Progress) => boolean) {
      while (!isDone(follower)) {
        const watch = watcher().watch({ resumeToken });
        let read = 0;
        for await (const message of watch) {
          ({ resumeToken } = message);
          assert.notEqual(resumeToken, '');
          if (message.event === 'snapshot_complete') follower.isComplete = true;
          if (message.event === 'transaction') {
            const { id, revision, status } = message;
            assert.ok(revision > (revisions.get(id) ?? 0), `${id} went from revision ${revisions.get(id)} to ${revision}`);
            assert.ok(!ended.has(id), `${id} changed after its end`);
            revisions.set(id, revision);
            if (finals.has(status)) ended.add(id);
          }
          read += 1;
          if (isDone(follower) || read === cutEvery) break;
        }
        watch.cancel();
      }
    },
  };
  return follower;
}
