import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { NetworkState } from '../../../src/core/overview/network-glances.js';
import { createOverview } from '../../../src/core/overview/overview.js';
import { type OverviewMessage, watchOverview } from '../../../src/core/overview/watch-overview.js';
import type { Chain } from '../../../src/core/ports/chain/chain.js';
import type { Head } from '../../../src/core/ports/chain/head.js';
import type { RunningInstance } from '../../../src/core/ports/instances.js';
import { StoreAwayError } from '../../../src/core/ports/store/change.js';
import type { ChangesByStatus, OpenOfRelayer } from '../../../src/core/ports/store/lane-views.js';
import { everyScope, type Principal } from '../../../src/core/records/principal.js';
import type { Relayer } from '../../../src/core/records/relayer.js';
import { createDirectory } from '../../../src/core/relayer/create-directory.js';
import { evmNetwork } from '../../support/evm.js';
import { modelRelayer } from '../../support/model-lane.js';
import { silentLog } from '../../support/stored-samples.js';
import { createVirtualTime } from '../../support/virtual-time.js';

const sampleMs = 300_000;
const heartbeatMs = 20_000;
const instance: RunningInstance = { id: '1', version: '1', host: 'h', pid: 1, state: 'sharing', sinceMs: 0, seenAtMs: 0, lanes: 1 };

function principal(over: Partial<Principal> = {}): Principal {
  return {
    keyId: 'k',
    name: 'k',
    scopes: new Set(everyScope),
    relayers: null,
    addresses: null,
    digest: null,
    expiresAtMs: null,
    ended: null,
    ...over,
  };
}

/** A network whose balances and market a test sets. */
interface FakeChain {
  readonly chain: Chain;
  readonly state: { head: Head | null; problem: string | null };
  readonly balances: Map<string, bigint>;
  /** The accounts whose balances were read, in order. */
  readonly read: string[];
  failing: boolean;
}

function fakeChain(name: string): FakeChain {
  const fake: FakeChain = {
    state: { head: { number: 1n, hash: 'h1', timestampMs: 5 }, problem: null },
    balances: new Map(),
    read: [],
    failing: false,
    chain: {
      network: evmNetwork({ name }),
      endpoints: () => [{ host: 'node.test', weight: 100, state: 'in_use' }],
      market: async () => ({ baseFeeWei: 7n, prices: [] }),
      async balanceOf(account: string) {
        fake.read.push(account);
        if (fake.failing) throw new Error('no node');
        return fake.balances.get(account) ?? 100n;
      },
    } as unknown as Chain,
  };
  return fake;
}

/** An overview of these relayers on a store that a test changes. */
function startRig(test: TestContext, relayers: readonly Relayer[], chainOf: (relayer: Relayer) => FakeChain) {
  const time = createVirtualTime();
  const positions = new Map<string, number>();
  const open = new Map<string, OpenOfRelayer>();
  const changes = new Map<string, ChangesByStatus>();
  const asked: (readonly string[])[] = [];
  const signer = { id: 's', curve: 'secp256k1', address: '0x', signDigest: () => Promise.reject(new Error('unused')) } as const;
  const directory = createDirectory(relayers.map((relayer) => ({ relayer, signer, chain: chainOf(relayer).chain })));
  const states = [...new Set(relayers.map(chainOf))];
  let backlog: number | Error = 0;
  let looks = 0;
  let isAway = false;
  let instances: readonly RunningInstance[] = [instance];
  const overview = createOverview({
    store: {
      read: {
        async lastPositions() {
          looks += 1;
          if (isAway) throw new StoreAwayError('away');
          return new Map(positions);
        },
        async openOf(ids) {
          asked.push(ids);
          return new Map(ids.flatMap((id) => (open.has(id) ? [[id, open.get(id) as OpenOfRelayer]] : [])));
        },
        async changesByStatus(relayerId) {
          const found = changes.get(relayerId) ?? { totals: new Map(), last: null };
          changes.delete(relayerId);
          return found;
        },
      },
    },
    directory,
    networkStates: () => states.map(({ chain, state }): NetworkState => ({ chain, ...state })),
    backlog: async () => {
      if (backlog instanceof Error) throw backlog;
      return backlog;
    },
    sharing: { instances: () => instances },
    ...time,
    log: silentLog,
  });
  test.after(() => overview.stop());

  /** Opens a watch and gathers its messages. */
  function watch(who: Principal = principal()) {
    const ending = new AbortController();
    const messages: OverviewMessage[] = [];
    const reading = (async () => {
      for await (const message of watchOverview({ overview, clock: time.clock, heartbeatMs }, who, ending.signal)) messages.push(message);
    })();
    return {
      messages,
      /** The messages since the last call. */
      take: () => messages.splice(0),
      async end() {
        ending.abort();
        await reading;
      },
    };
  }

  return {
    time,
    overview,
    directory,
    watch,
    asked,
    states,
    positions,
    looks: () => looks,
    /** Changes what a relayer has open, as a commit does. */
    change(id: string, value: OpenOfRelayer) {
      open.set(id, value);
      positions.set(id, (positions.get(id) ?? 0) + 1);
    },
    finish(id: string, totals: ChangesByStatus['totals']) {
      positions.set(id, (positions.get(id) ?? 0) + 1);
      changes.set(id, { totals, last: positions.get(id) ?? 0 });
    },
    setBacklog(value: number | Error) {
      backlog = value;
    },
    setInstances(value: readonly RunningInstance[]) {
      instances = value;
    },
    setAway(value: boolean) {
      isAway = value;
    },
  };
}

function opened(waiting: number, inFlight: number, reason = 'why'): OpenOfRelayer {
  return { waiting, inFlight, oldest: waiting + inFlight === 0 ? null : { id: 't', createdAtMs: 1, statusReason: reason } };
}

function oneChain(ids: readonly string[], over: Partial<Relayer> = {}) {
  const fake = fakeChain('one');
  const relayers = ids.map((id): Relayer => ({ ...modelRelayer(id, { name: 'one' }), ...over }));
  return { fake, relayers, chainOf: () => fake };
}

it('overview: looks at nothing until somebody watches, and then once a second for all watchers together', async (test) => {
  const { relayers, chainOf } = oneChain(['r1']);
  const rig = startRig(test, relayers, chainOf);
  await rig.time.pass(10_000);
  assert.equal(rig.looks(), 0);
  const watches = [rig.watch(), rig.watch(), rig.watch()];
  await rig.time.pass(0);
  for (const { messages } of watches)
    assert.deepEqual(
      messages.map(({ isSnapshotComplete }) => isSnapshotComplete),
      [false, true],
    );
  assert.equal(rig.looks(), 1);
  await rig.time.pass(5_000);
  assert.equal(rig.looks(), 6);
  for (const one of watches) await one.end();
  await rig.time.pass(10_000);
  assert.equal(rig.looks(), 6);
  for (let opened = 0; opened < 20; opened += 1) {
    const brief = rig.watch();
    await rig.time.pass(0);
    assert.ok(brief.messages.at(-1)?.isSnapshotComplete);
    await brief.end();
  }
  assert.equal(rig.looks(), 7, 'watches that come and go share a look');
});

it('overview: a message has only what has changed, and only relayers that moved are counted again', async (test) => {
  const { fake, relayers, chainOf } = oneChain(['r1', 'r2', 'r3']);
  const rig = startRig(test, relayers, chainOf);
  rig.change('r1', opened(1, 0));
  const watch = rig.watch();
  await rig.time.pass(1_500);
  watch.take();
  rig.asked.length = 0;
  await rig.time.pass(1_000);
  assert.deepEqual(watch.take(), []);
  rig.change('r2', opened(0, 2));
  await rig.time.pass(1_000);
  const [message, ...more] = watch.take();
  assert.deepEqual(more, []);
  assert.deepEqual(
    message?.relayers.map(({ relayer, open }) => [relayer.id, open.inFlight]),
    [['r2', 2]],
  );
  assert.deepEqual([message.networks, message.instances, message.samples, message.webhookBacklog], [[], [], [], null]);
  assert.deepEqual(rig.asked, [['r2']]);
  // A change that shows nothing new is no news.
  rig.change('r2', opened(0, 2));
  await rig.time.pass(1_000);
  assert.deepEqual(watch.take(), []);
  rig.change('r2', opened(0, 2, 'another reason'));
  fake.state.head = { number: 2n, hash: 'h2', timestampMs: 6 };
  await rig.time.pass(1_000);
  const [both] = watch.take();
  assert.deepEqual([both?.relayers[0]?.open.oldest?.statusReason, both?.networks[0]?.head?.number], ['another reason', 2n]);
  rig.setBacklog(3);
  rig.setInstances([{ ...instance, lanes: 2 }]);
  await rig.time.pass(5_000);
  const news = watch.take();
  assert.deepEqual(
    [news.map(({ webhookBacklog }) => webhookBacklog).filter((count) => count !== null), news.flatMap(({ instances }) => instances).length],
    [[3], 1],
  );
  await watch.end();
});

it('overview: 20 seconds of silence end with an empty message', async (test) => {
  const { relayers, chainOf } = oneChain(['r1']);
  const rig = startRig(test, relayers, chainOf);
  const watch = rig.watch();
  await rig.time.pass(2_500);
  watch.take();
  await rig.time.pass(heartbeatMs - 3_000);
  assert.deepEqual(watch.take(), []);
  await rig.time.pass(3_000);
  const [heartbeat, ...more] = watch.take();
  assert.deepEqual(more, []);
  assert.deepEqual([heartbeat?.relayers, heartbeat?.isSnapshotComplete], [[], false]);
  await watch.end();
});

it('overview: a reader that is slower than the changes gets the last state', async (test) => {
  const { relayers, chainOf } = oneChain(['r1']);
  const rig = startRig(test, relayers, chainOf);
  const ending = new AbortController();
  const messages = watchOverview({ overview: rig.overview, clock: rig.time.clock, heartbeatMs }, principal(), ending.signal);
  await messages.next();
  const snapshot = messages.next();
  await rig.time.pass(2_500);
  assert.ok((await snapshot).value?.isSnapshotComplete);
  for (let waiting = 1; waiting <= 5; waiting += 1) {
    rig.change('r1', opened(waiting, 0));
    await rig.time.pass(1_000);
  }
  const { value } = await messages.next();
  assert.equal(value?.relayers[0]?.open.waiting, 5);
  ending.abort();
  await messages.next();
});

it('overview: a thousand relayers come in messages of at most 200, the last of which completes the snapshot', async (test) => {
  const { relayers, chainOf } = oneChain(Array.from({ length: 1_000 }, (_, index) => `r${index}`));
  const rig = startRig(test, relayers, chainOf);
  const watch = rig.watch();
  await rig.time.pass(0);
  assert.deepEqual(
    watch.messages.map(({ relayers: shown, isSnapshotComplete }) => [shown.length, isSnapshotComplete]),
    [
      [0, false],
      [200, false],
      [200, false],
      [200, false],
      [200, false],
      [200, true],
    ],
  );
  await watch.end();
});

it('overview: a limited key sees its own relayers and their networks, and no samples, endpoints or instances', async (test) => {
  const [one, two] = [fakeChain('one'), fakeChain('two')];
  const relayers = [modelRelayer('r1', { name: 'one' }), modelRelayer('r2', { name: 'two' })];
  const rig = startRig(test, relayers, ({ id }) => (id === 'r1' ? one : two));
  rig.overview.start();
  await rig.time.pass(2 * sampleMs + 1_000);
  const limited = rig.watch(principal({ relayers: new Set(['r2', 'r3']) }));
  const all = rig.watch();
  await rig.time.pass(1_500);
  const messages = limited.take();
  assert.deepEqual(
    messages.flatMap(({ relayers: shown }) => shown.map(({ relayer }) => relayer.id)),
    ['r2'],
  );
  assert.deepEqual([...new Set(messages.flatMap(({ networks }) => networks.map(({ network }) => network.name)))], ['two']);
  assert.deepEqual(
    messages.flatMap(({ networks }) => networks.flatMap(({ endpoints }) => endpoints)),
    [],
  );
  assert.deepEqual(
    messages.flatMap(({ samples, instances }) => [...samples, ...instances]),
    [],
  );
  assert.equal(all.take().flatMap(({ samples }) => samples).length, 2);
  rig.change('r1', opened(1, 0));
  await rig.time.pass(1_000);
  assert.deepEqual(limited.take(), []);
  // A relayer that is created later brings its network.
  const [template] = relayers;
  assert.ok(template !== undefined);
  const signer = rig.directory.signerOf(template);
  rig.directory.put({ relayer: { ...template, id: 'r3' }, signer, chain: one.chain });
  await rig.time.pass(1_000);
  const [later] = limited.take();
  assert.deepEqual(
    [later?.relayers.map(({ relayer }) => relayer.id), later?.networks.map(({ network }) => network.name)],
    [['r3'], ['one']],
  );
  rig.directory.remove('r3');
  await rig.time.pass(1_000);
  assert.deepEqual(
    limited.take().flatMap(({ removedRelayerIds }) => removedRelayerIds),
    ['r3'],
  );
  for (const watch of [limited, all]) await watch.end();
});

it('overview: while the store is away, a watch stays open, and shows the next state when it is back', async (test) => {
  const { relayers, chainOf } = oneChain(['r1']);
  const rig = startRig(test, relayers, chainOf);
  const earlier = rig.watch();
  await rig.time.pass(2_000);
  rig.setAway(true);
  await rig.time.pass(2_000);
  const watch = rig.watch();
  await rig.time.pass(5_000);
  assert.deepEqual(
    watch.take().map(({ isSnapshotComplete }) => isSnapshotComplete),
    [false],
  );
  rig.setAway(false);
  await rig.time.pass(1_000);
  assert.deepEqual(
    watch.take().map(({ isSnapshotComplete }) => isSnapshotComplete),
    [true],
  );
  for (const one of [earlier, watch]) await one.end();
});

it('overview: a sample every five minutes counts what became final, and a day of them is kept', async (test) => {
  const { relayers, chainOf } = oneChain(['r1', 'r2']);
  const rig = startRig(test, relayers, chainOf);
  rig.finish('r1', new Map([['confirmed', 99]]));
  rig.overview.start();
  await rig.time.pass(1_000);
  rig.finish(
    'r1',
    new Map([
      ['confirmed', 3],
      ['failed', 1],
      ['pending', 5],
    ]),
  );
  rig.finish(
    'r2',
    new Map([
      ['canceled', 2],
      ['expired', 4],
      ['confirmed', 1],
    ]),
  );
  rig.change('r2', opened(4, 2));
  rig.setBacklog(9);
  await rig.time.pass(sampleMs);
  const watch = rig.watch();
  await rig.time.pass(1_000);
  const [sample, ...more] = watch.take().flatMap(({ samples }) => samples);
  assert.deepEqual(more, []);
  assert.deepEqual(sample, { atMs: sampleMs, confirmed: 4, failed: 1, withdrawn: 6, open: 6, webhookBacklog: 9 });
  await rig.time.pass(sampleMs);
  assert.deepEqual(
    watch
      .take()
      .flatMap(({ samples }) => samples)
      .map(({ confirmed, open }) => [confirmed, open]),
    [[0, 6]],
  );
  await watch.end();
  await rig.time.pass(300 * sampleMs);
  const late = rig.watch();
  await rig.time.pass(1_000);
  assert.equal(late.take().flatMap(({ samples }) => samples).length, 288);
  await late.end();
});

it('overview: a sample that fails is counted in the next one', async (test) => {
  const { relayers, chainOf } = oneChain(['r1']);
  const rig = startRig(test, relayers, chainOf);
  rig.overview.start();
  await rig.time.pass(1_000);
  rig.setAway(true);
  await rig.time.pass(sampleMs);
  rig.setAway(false);
  rig.finish('r1', new Map([['confirmed', 2]]));
  await rig.time.pass(sampleMs);
  const watch = rig.watch();
  await rig.time.pass(1_000);
  assert.deepEqual(
    watch
      .take()
      .flatMap(({ samples }) => samples)
      .map(({ confirmed }) => confirmed),
    [2],
  );
  await watch.end();
});

it('overview: the balance of a relayer that spent something is read until a day has passed', async (test) => {
  const { fake, relayers, chainOf } = oneChain(['r1', 'r2']);
  const rig = startRig(test, relayers, chainOf);
  rig.overview.start();
  await rig.time.pass(sampleMs);
  for (const balance of [100n, 60n]) {
    fake.balances.set('0xr1', balance);
    rig.change('r1', opened(1, 0));
    await rig.time.pass(2 * sampleMs);
  }
  const funds = () => relayers.map((relayer) => rig.overview.fundsOf(relayer));
  assert.deepEqual(funds(), [
    { balance: 60n, spentLastDay: 40n, lastsMs: 3 * sampleMs },
    { balance: null, spentLastDay: null, lastsMs: null },
  ]);
  fake.balances.set('0xr1', 1_000n);
  await rig.time.pass(2 * sampleMs);
  assert.equal(funds()[0]?.balance, 1_000n);
  await rig.time.pass(25 * 3_600_000);
  assert.equal(funds()[0]?.lastsMs, null);
  fake.read.length = 0;
  await rig.time.pass(4 * sampleMs);
  assert.deepEqual(fake.read, []);
});

it('overview: balances are read every 30 seconds while somebody watches, else every ten minutes for relayers that moved', async (test) => {
  const { fake, relayers, chainOf } = oneChain(['r1', 'r2']);
  const rig = startRig(test, relayers, chainOf);
  rig.overview.start();
  await rig.time.pass(4 * sampleMs);
  assert.deepEqual(fake.read, [], 'nothing moved');
  rig.change('r2', opened(1, 0));
  await rig.time.pass(2 * sampleMs);
  assert.deepEqual(fake.read, ['0xr2']);
  await rig.time.pass(4 * sampleMs);
  assert.deepEqual(fake.read, ['0xr2']);
  const watch = rig.watch();
  await rig.time.pass(1_000);
  assert.deepEqual(fake.read.splice(0), ['0xr2', '0xr1', '0xr2']);
  fake.balances.set('0xr1', 40n);
  await rig.time.pass(30_000);
  assert.deepEqual(fake.read.splice(0), ['0xr1', '0xr2']);
  await rig.time.pass(1_000);
  const balances = watch.take().flatMap(({ relayers: shown }) => shown.map(({ relayer, funds }) => [relayer.id, funds.balance]));
  assert.deepEqual(balances.at(-1), ['r1', 40n]);
  fake.failing = true;
  await rig.time.pass(31_000);
  assert.ok(fake.read.splice(0).length > 0);
  assert.deepEqual(
    watch.take().flatMap(({ relayers: shown }) => shown),
    [],
  );
  fake.state.problem = 'no RPC node is reachable';
  await rig.time.pass(60_000);
  assert.deepEqual(fake.read, [], 'nodes that are unreachable are not asked');
  await watch.end();
});

it('overview: the base fee is read once per head', async (test) => {
  const { fake, relayers, chainOf } = oneChain(['r1']);
  let asked = 0;
  Object.assign(fake.chain, {
    market: async () => {
      asked += 1;
      return { baseFeeWei: BigInt(asked), prices: [] };
    },
  });
  const rig = startRig(test, relayers, chainOf);
  const watch = rig.watch();
  await rig.time.pass(5_000);
  assert.equal(asked, 1);
  assert.equal(
    watch
      .take()
      .flatMap(({ networks }) => networks)
      .at(-1)?.baseFeeWei,
    1n,
  );
  fake.state.head = { number: 2n, hash: 'h2', timestampMs: 6 };
  await rig.time.pass(5_000);
  assert.equal(asked, 2);
  assert.equal(
    watch
      .take()
      .flatMap(({ networks }) => networks)
      .at(-1)?.baseFeeWei,
    2n,
  );
  await watch.end();
});

it('overview: an account whose balance cannot be read does not keep others from being read', async (test) => {
  const ids = Array.from({ length: 100 }, (_, index) => `r${index}`);
  const { fake, relayers, chainOf } = oneChain(ids);
  const { balanceOf } = fake.chain;
  Object.assign(fake.chain, {
    balanceOf: (account: string) => (account === '0xr0' ? Promise.reject(new Error('a strange account')) : balanceOf(account)),
  });
  const rig = startRig(test, relayers, chainOf);
  const watch = rig.watch();
  await rig.time.pass(2_000);
  assert.equal(fake.read.length, 99);
  await watch.end();
});

it('overview: nodes that fail for every account are asked for few of them', async (test) => {
  const { fake, relayers, chainOf } = oneChain(Array.from({ length: 1_000 }, (_, index) => `r${index}`));
  fake.failing = true;
  const rig = startRig(test, relayers, chainOf);
  const watch = rig.watch();
  await rig.time.pass(2_000);
  assert.ok(fake.read.length > 0 && fake.read.length < 100, String(fake.read.length));
  await watch.end();
});

it('overview: a relayer that comes back with the same id and another account has no funds of the old one', async (test) => {
  const { fake, relayers, chainOf } = oneChain(['r1']);
  const [old] = relayers;
  assert.ok(old !== undefined);
  fake.balances.set(old.address, 1_000n);
  fake.balances.set('0xother', 3n);
  const rig = startRig(test, relayers, chainOf);
  const watch = rig.watch();
  await rig.time.pass(700_000);
  watch.take();
  const signer = rig.directory.signerOf(old);
  rig.directory.remove('r1');
  rig.directory.put({ relayer: { ...old, address: '0xother' }, signer, chain: fake.chain });
  await rig.time.pass(60_000);
  const shown = watch.take().flatMap((message) => message.relayers);
  assert.deepEqual(
    shown.map(({ relayer, funds }) => [relayer.address, funds]),
    [
      ['0xother', { balance: null, spentLastDay: null, lastsMs: null }],
      ['0xother', { balance: 3n, spentLastDay: null, lastsMs: null }],
    ],
  );
  await watch.end();
});

it('overview: a network without a relayer is not shown, and is shown again when it has one', async (test) => {
  const { fake, relayers, chainOf } = oneChain(['r1']);
  const rig = startRig(test, relayers, chainOf);
  const shown = () => watch.take().flatMap(({ networks }) => networks.map(({ network }) => network.name));
  const watch = rig.watch();
  await rig.time.pass(2_000);
  assert.ok(shown().length > 0);
  const [state] = rig.states.splice(0);
  await rig.time.pass(1_000);
  const later = rig.watch();
  await rig.time.pass(500);
  assert.deepEqual(
    later.take().flatMap(({ networks }) => networks),
    [],
  );
  rig.states.push(state ?? fake);
  await rig.time.pass(1_000);
  assert.deepEqual(shown(), ['one']);
  for (const one of [watch, later]) await one.end();
});

it('overview: a limited key gets a network anew when it comes into sight again', async (test) => {
  const { fake, relayers, chainOf } = oneChain(['r1', 'r2']);
  const [, second] = relayers;
  assert.ok(second !== undefined);
  const rig = startRig(test, relayers, chainOf);
  const watch = rig.watch(principal({ relayers: new Set(['r2']) }));
  await rig.time.pass(2_000);
  const entry = { relayer: second, signer: rig.directory.signerOf(second), chain: fake.chain };
  rig.directory.remove('r2');
  await rig.time.pass(1_000);
  fake.state.problem = 'no RPC node is reachable';
  await rig.time.pass(1_000);
  watch.take();
  rig.directory.put(entry);
  await rig.time.pass(1_000);
  assert.deepEqual(
    watch.take().flatMap(({ networks }) => networks.map(({ problem }) => problem)),
    ['no RPC node is reachable'],
  );
  await watch.end();
});

it('overview: a change that a failed look has seen is sent after the next one', async (test) => {
  const { relayers, chainOf } = oneChain(['r1', 'r2']);
  const rig = startRig(test, relayers, chainOf);
  const watch = rig.watch();
  await rig.time.pass(6_500);
  watch.take();
  rig.change('r2', opened(0, 2));
  rig.setBacklog(new StoreAwayError('away'));
  await rig.time.pass(7_000);
  rig.setBacklog(1);
  await rig.time.pass(7_000);
  assert.deepEqual(
    watch.take().flatMap((message) => message.relayers.map(({ relayer, open }) => [relayer.id, open.inFlight])),
    [['r2', 2]],
  );
  await watch.end();
});

it('overview: every message of any watch has a turn of the event loop of its own', async (test) => {
  const { relayers, chainOf } = oneChain(Array.from({ length: 1_000 }, (_, index) => `r${index}`));
  const rig = startRig(test, relayers, chainOf);
  let turn = 0;
  let isOver = false;
  const counting = (async () => {
    while (!isOver) {
      await nextTurn();
      turn += 1;
    }
  })();
  const turns: number[] = [];
  const watches = 20;
  const open = Array.from({ length: watches }, () => new AbortController());
  const reading = open.map(async ({ signal }) => {
    for await (const { relayers: shown } of watchOverview(
      { overview: rig.overview, clock: rig.time.clock, heartbeatMs },
      principal(),
      signal,
    ))
      if (shown.length > 0) turns.push(turn);
  });
  while (turns.length < watches * 5) await nextTurn();
  isOver = true;
  await counting;
  assert.ok(new Set(turns).size > 0.9 * turns.length, `${turns.length} messages in ${new Set(turns).size} turns`);
  for (const one of open) one.abort();
  await rig.time.pass(0);
  await Promise.all(reading);
});

it('overview: a look costs no more per relayer if each has RPC URLs of its own', async (test) => {
  const fakes = new Map<string, FakeChain>();
  const chainOf = ({ id }: Relayer) => {
    const fake = fakes.get(id) ?? fakeChain('one');
    fakes.set(id, fake);
    return fake;
  };
  const relayers = Array.from({ length: 500 }, (_, index) => modelRelayer(`r${index}`, { name: 'one' }));
  const rig = startRig(test, relayers, chainOf);
  const find = rig.directory.chainOf;
  let asked = 0;
  Object.assign(rig.directory, {
    chainOf: (relayer: Relayer) => {
      asked += 1;
      return find(relayer);
    },
  });
  const watch = rig.watch();
  await rig.time.pass(2_500);
  const networks = watch.take().flatMap(({ networks: shown }) => shown);
  assert.equal(networks[0]?.endpoints.length, relayers.length);
  assert.ok(asked < 20 * relayers.length, `${asked} questions`);
  await watch.end();
});
