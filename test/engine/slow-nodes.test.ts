import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createEvmChain } from '../../src/chains/evm/evm-chain.js';
import type { OpenTransaction } from '../../src/core/records/transaction.js';
import { sendTransaction } from '../../src/core/transaction/send-transaction.js';
import { createLocalSigner } from '../../src/signers/local/local-signer.js';
import { openSimDatabase } from '../sim/database.js';
import { createLedger } from '../sim/evm/ledger.js';
import { createNode, type SimNode } from '../sim/evm/node.js';
import { startService } from '../sim/service.js';
import { createSkewedClock, createVirtualTime, trueTimeMs } from '../sim/virtual-time.js';
import { evmNetwork, evmRelayer, wanted } from '../support/evm.js';
import { createRandom } from '../support/seeded-random.js';

const gwei = 10n ** 9n;

interface Slow {
  readonly urls: number;
  readonly blockMs: number;
  /** How long nodes take to answer while the service starts. */
  readonly atStartMs?: number;
}

/** A service in virtual time on a chain whose nodes take as long to answer as `delay` says. */
async function startSlow(test: TestContext, { urls, blockMs, atStartMs = 5 }: Slow) {
  const random = createRandom(1);
  const time = createVirtualTime();
  const clock = createSkewedClock(time);
  const database = await openSimDatabase();
  const signer = createLocalSigner({ id: 's1', privateKey: Buffer.alloc(32, 11) });
  const accounts = new Map([[signer.address.toLowerCase(), { nonce: 0, balanceWei: 10n ** 21n }]]);
  const ledger = createLedger(random.fork('ledger'), accounts, Math.floor(trueTimeMs(time) / 1_000) - 1);
  const nodes: readonly SimNode[] = Array.from({ length: urls }, (_, index) =>
    createNode({
      name: `n${index}`,
      kind: 'geth',
      chainId: 31_337n,
      ledger,
      gossip(transaction, from) {
        for (const node of nodes) if (node !== from) node.pool.add(transaction, accountOf(transaction.from));
      },
      stranger: () => assert.fail('no node shows foreign transactions'),
      refusedBid: () => undefined,
      showedNonce: () => undefined,
    }),
  );
  const accountOf = (address: string) => ledger.head().accounts.get(address) ?? { nonce: 0, balanceWei: 0n };
  const rpcUrls = nodes.map(({ name }, index) => ({ url: `http://${name}.sim`, weight: 100 - index }));
  const network = evmNetwork({ rpcUrls, requiredConfirmations: 1, averageBlockTimeMs: blockMs });
  const relayer = { ...evmRelayer(signer.address, {}), id: 'r1', signerId: signer.id, network };
  const delay = { ms: atStartMs };
  const warnings: string[] = [];
  const start = () =>
    startService({
      database,
      wire: {
        time,
        sent: () => undefined,
        fate: () => 'answered',
        delayMs: () => delay.ms,
        idleMs: 5_000,
        answer: (host, body) => nodes.find(({ name }) => host.startsWith(name))?.answer(body) ?? '',
      },
      clock,
      relayers: [{ relayer, signer }],
      random: random.fork('service'),
      rpcTimeoutMs: 10_000,
      openChain: (parts) => createEvmChain({ ...parts, network, rpcUrls, maxFeeWei: null }),
      commitFate: () => 'done',
      commitDelayMs: () => 1,
      signDelayMs: null,
      isFenced: true,
      logged: (level, _, message) => void (level === 'info' || warnings.push(message)),
      lostDatabase: () => undefined,
      wroteStale: () => undefined,
      sharing: null,
    });
  let service = start();
  test.after(() => {
    service.kill();
    database.close();
  });

  async function turns(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (service.isBusy());
  }
  async function passQuietly(ms: number): Promise<void> {
    const endMs = time.elapsedMs() + ms;
    await turns();
    for (let next = time.nextAtMs(); next !== null && next <= endMs; next = time.nextAtMs()) {
      time.runNext();
      await turns();
    }
    time.advanceTo(endMs);
  }
  function mine(): void {
    const pooled = nodes.flatMap(({ pool }) => [...pool.all()]);
    ledger.build(pooled, {
      timestampS: Math.floor(trueTimeMs(time) / 1_000),
      baseFeeWei: gwei,
      marketTipWei: gwei,
      leastTipWei: 0n,
      room: 100,
      deposits: new Map(),
    });
    for (const node of nodes) node.follow();
  }
  let nextBlockMs = 0;
  /** Lets time pass, with its blocks. */
  async function pass(ms: number): Promise<void> {
    const endMs = time.elapsedMs() + ms;
    for (; nextBlockMs <= endMs; nextBlockMs += blockMs) {
      await passQuietly(Math.max(0, nextBlockMs - time.elapsedMs()));
      mine();
    }
    await passQuietly(endMs - time.elapsedMs());
  }
  const transactionsById = async (ids: readonly string[]): Promise<readonly OpenTransaction[]> => {
    const reading = service.deps.store.read.transactionsById(ids);
    await pass(100);
    return reading;
  };

  mine();
  nextBlockMs = time.elapsedMs() + blockMs / 2;
  return {
    /** From now on nodes take this long to answer. */
    slowTo(ms: number): void {
      delay.ms = ms;
    },
    async send(): Promise<readonly string[]> {
      const sending = [1n, 2n, 3n].map((valueWei) => sendTransaction(service.deps, relayer, wanted({ valueWei })));
      await pass(100);
      return (await Promise.all(sending)).map(({ transaction }) => transaction.id);
    },
    /** Returns after how many seconds each of these is so. */
    async secondsUntil(ids: readonly string[], isSo: (one: OpenTransaction) => boolean): Promise<number> {
      const startedMs = time.elapsedMs();
      while (time.elapsedMs() - startedMs < 300_000) {
        await pass(500);
        if ((await transactionsById(ids)).every(isSo)) return (time.elapsedMs() - startedMs) / 1_000;
      }
      throw new Error('not all of them were so within five minutes');
    },
    restart(): void {
      service.kill();
      service = start();
    },
    warnings,
    read: transactionsById,
    pass,
  };
}

const isSigned = ({ attempts }: OpenTransaction): boolean => attempts.length > 0;
const isConfirmed = ({ transaction }: OpenTransaction): boolean => transaction.status === 'confirmed';

const stories = ['a first start', 'a start', 'an hour without any', 'fast answers'] as const;

describe('three payments through nodes that close idle connections', () => {
  for (const { ms, limitS } of [
    { ms: 2_500, limitS: 15 },
    { ms: 5_000, limitS: 25 },
    { ms: 9_000, limitS: 40 },
  ])
    for (const urls of [1, 3])
      for (const story of stories)
        it(`are signed in order within ${limitS} s by ${urls} URL(s) whose answers take ${ms} ms after ${story}`, async (test) => {
          const slow = await startSlow(test, { urls, blockMs: 12_000, atStartMs: story === 'a first start' ? ms : 5 });
          if (story !== 'a first start') await slow.secondsUntil(await slow.send(), isConfirmed);
          if (story === 'an hour without any') await slow.pass(3_600_000);
          slow.slowTo(ms);
          const ids = await slow.send();
          if (story === 'a start') slow.restart();
          const seconds = await slow.secondsUntil(ids, isSigned);
          assert.ok(seconds <= limitS, `signed after ${seconds} s`);
          const nonces = (await slow.read(ids)).map(({ transaction }) => transaction.nonce ?? -1n);
          assert.deepEqual(
            nonces,
            [0n, 1n, 2n].map((more) => (nonces[0] ?? 0n) + more),
          );
          const more = await slow.secondsUntil(ids, isConfirmed);
          assert.ok(more <= 10 * (ms / 1_000) + 12, `confirmed after ${more} s more`);
        });

  for (const urls of [1, 3])
    it(`are signed within 50 s on a chain with blocks of 1 s by ${urls} URL(s) whose answers take 9 s, none of which is left out`, async (test) => {
      const slow = await startSlow(test, { urls, blockMs: 1_000, atStartMs: 9_000 });
      const ids = await slow.send();
      const seconds = await slow.secondsUntil(ids, isSigned);
      assert.ok(seconds <= 50, `signed after ${seconds} s`);
      await slow.secondsUntil(ids, isConfirmed);
      assert.deepEqual(slow.warnings, []);
    });
});
