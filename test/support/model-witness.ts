import assert from 'node:assert/strict';
import type { Store } from '../../src/core/ports/store/store.js';
import { onNetwork } from '../../src/core/records/on-network.js';
import { laneOf, type Relayer } from '../../src/core/records/relayer.js';
import { type Attempt, isFinal, type Transaction, type TransactionView } from '../../src/core/records/transaction.js';
import { attemptsOf } from './attempts-of.js';
import { evmFieldsOf } from './evm.js';
import type { ModelChain } from './model-chain.js';

/** Records one relayer's transactions and checks what must hold for them. */
export interface ModelWitness {
  /** All stored transactions at the last check, oldest first. */
  ids(): readonly string[];
  /** The events that occurred: statuses, transitions, and others that a useful run must have. */
  readonly met: ReadonlySet<string>;
  /** Records an answered request. */
  accepted(view: TransactionView): void;
  look(): Promise<void>;
  /** Checks that everything is final and agrees with the chain. */
  requireEnded(): Promise<void>;
  describe(): Promise<string>;
}

/** What a witness observes. */
export interface ModelWitnessDeps {
  readonly store: Store;
  readonly relayer: Relayer;
  readonly chain: ModelChain;
  /** True if a reorg may have removed confirmed blocks. */
  readonly deepReorgs: boolean;
}

/** Makes a witness without records. */
export function createModelWitness({ store, relayer, chain, deepReorgs }: ModelWitnessDeps): ModelWitness {
  const lane = laneOf(relayer);
  const confirmations = relayer.network.requiredConfirmations;
  const acceptedIds = new Set<string>();
  const known = new Map<string, { view: TransactionView; attempts: readonly Attempt[] }>();
  const met = new Set<string>();
  /** Nonces that foreign transactions have ever had in a block, with those transactions. */
  const foreignUses = new Map<bigint, Set<string>>();

  let greatestChainNonce = 0n;

  async function look(): Promise<void> {
    if (chain.accountNonce() > greatestChainNonce) greatestChainNonce = chain.accountNonce();
    for (const { transactions } of chain.blocks)
      for (const { hash, nonce } of transactions) {
        if (chain.foreign.has(hash)) foreignUses.set(nonce, (foreignUses.get(nonce) ?? new Set()).add(hash));
      }
    const { items, total } = await store.read.transactionsOf(relayer.id, [], { offset: 0, limit: 10_000 });
    assert.equal(total, items.length);
    for (const view of items.toReversed()) {
      const { transaction } = view;
      const before = known.get(transaction.id);
      if (before?.view.transaction.revision === transaction.revision) {
        assert.deepEqual(transaction, before.view.transaction, `${transaction.id} changed without a revision`);
        continue;
      }
      const attempts = await attemptsOf(store.read, transaction.id);
      meet(before?.view.transaction, view, attempts);
      if (before !== undefined) requireLawful(before.view.transaction, transaction, attempts.length - before.attempts.length);
      known.set(transaction.id, { view, attempts });
      requireWhole(view, attempts);
      if (isFinal(transaction.status)) requireEarned(view, attempts);
    }
    for (const id of acceptedIds) assert.ok(known.has(id), `accepted transaction ${id} is not stored`);
    requireDistinct();
    for (const { attempts, view } of known.values()) {
      const inBlocks = attempts.filter(({ hash }) => chain.minedIn(hash) !== undefined);
      assert.ok(deepReorgs || inBlocks.length <= 1, `${view.transaction.id} is paid twice`);
    }
    await requireNoHole();
  }

  function meet(before: Transaction | undefined, { transaction, shown }: TransactionView, attempts: readonly Attempt[]): void {
    const { status, nonce, mined, liveVersion } = transaction;
    met.add(status);
    if (before === undefined && attempts.length > 0 && !acceptedIds.has(transaction.id)) met.add('a gap is filled');
    if (before !== undefined && before.status !== status) met.add(`${before.status} > ${status}`);
    if (before !== undefined && before.nonce !== null && nonce === null) met.add('another nonce is to be had');
    if (mined !== null && mined.version !== liveVersion) met.add('an earlier version is mined');
    if (attempts.length > 2) met.add('three versions');
    if (shown?.purpose === 'release_slot') met.add('a slot is given up');
    if (attempts.some(({ purpose }, index) => purpose === 'content' && attempts[index - 1]?.purpose === 'content'))
      met.add('content over content');
  }

  function requireLawful(before: Transaction, now: Transaction, newAttempts: number): void {
    const { id } = now;
    if (isFinal(before.status)) assert.deepEqual(now, before, `final ${id} changed`);
    assert.ok(now.revision >= before.revision, `${id} went back in revision`);
    if (before.intent !== 'content') assert.equal(now.intent, before.intent, `${id} changed its intent again`);
    if (before.nonce !== null && now.nonce !== before.nonce)
      assert.ok(isForeignForGood(before.nonce), `${id} left a slot that may be its own`);
    if (before.status === 'mined' && now.revision === before.revision + 1)
      assert.equal(newAttempts, 0, `${id} is signed again while mined`);
    assert.equal(now.createdAtMs, before.createdAtMs);
    if (before.sentAtMs !== null) assert.equal(now.sentAtMs, before.sentAtMs);
  }

  function requireWhole({ transaction, shown }: TransactionView, attempts: readonly Attempt[]): void {
    const { id, status, nonce, mined, liveVersion, confirmedAtMs, intent, content, statusReason } = transaction;
    assert.equal(confirmedAtMs !== null, status === 'confirmed', `${id}: confirmed_at with confirmed only`);
    if (mined !== null) assert.equal(shown?.version, mined.version, `${id} does not show what was mined`);
    if (status === 'mined') assert.ok(mined !== null, `${id} is mined without a version`);
    if (status === 'pending') assert.deepEqual([nonce, liveVersion, mined], [null, null, null], `${id} is pending in a slot`);
    if (status === 'sent' || status === 'submitted') assert.equal(shown?.version, attempts.at(-1)?.version, `${id} shows an old version`);
    if (shown !== null) assert.equal(shown.nonce, nonce, `${id} shows a version of another slot`);
    if (nonce !== null && / is used on chain/.test(statusReason ?? ''))
      assert.ok(nonce < greatestChainNonce, `${id} says of a free nonce: ${statusReason}`);
    const live = attempts.find(({ version }) => version === liveVersion);
    if (live === undefined) return;
    assert.equal(live.purpose, intent, `${id} has a newest version of another intent`);
    const { to, valueWei, data } = intent === 'content' ? onNetwork('evm', content) : { to: lane.account, valueWei: 0n, data: null };
    const said = evmFieldsOf(live);
    assert.deepEqual([said.to, said.valueWei, said.data], [to, valueWei, data], `${id} does not say what is wanted`);
  }

  /** A final status rests on a block that had, at some time, the required confirmations. */
  function requireEarned({ transaction, shown }: TransactionView, attempts: readonly Attempt[]): void {
    const { id, status, mined, nonce } = transaction;
    if (mined !== null) {
      assert.ok(shown !== null && chain.greatestDepth(shown.hash) >= confirmations, `${id} is ${status} too early`);
      const expected = { content: mined.succeeded ? 'confirmed' : 'failed', cancel: 'canceled', expire: 'expired', release_slot: 'failed' }[
        shown.purpose
      ];
      assert.equal(status, expected, `${id} ended as what it was not`);
      if (!deepReorgs) assert.equal(chain.minedIn(shown.hash)?.hash, mined.blockHash, `${id} is ${status} in a block that is not there`);
      return;
    }
    assert.notEqual(status, 'confirmed', `${id} is confirmed without a block`);
    assert.ok(displacedEarned(attempts), `${id} is ${status}, but nothing has its nonce for good`);
    // Nodes here forget nothing, so the transaction that used a nonce is always found.
    if (nonce !== null)
      assert.equal(status, { content: null, cancel: 'canceled', expire: 'expired', release_slot: 'failed' }[transaction.intent]);
  }

  /** Each slot of the transaction finally belongs to a foreign transaction. */
  function displacedEarned(attempts: readonly Attempt[]): boolean {
    return attempts.every(({ nonce }) => nonce !== null && isForeignForGood(nonce));
  }

  function isForeignForGood(nonce: bigint): boolean {
    return [...(foreignUses.get(nonce) ?? [])].some((hash) => chain.greatestDepth(hash) >= confirmations);
  }

  function requireDistinct(): void {
    const hashes = new Set<string>();
    const versions = new Set<string>();
    let count = 0;
    for (const { attempts } of known.values()) {
      for (const { hash, nonce, version } of attempts) {
        hashes.add(hash);
        versions.add(`${nonce}/${version}`);
        count += 1;
      }
    }
    assert.equal(hashes.size, count, 'two attempts have the same hash');
    assert.equal(versions.size, count, 'two attempts of a slot have the same version');
  }

  async function requireNoHole(): Promise<void> {
    const next = (await store.read.nextNonce(lane)) ?? 0n;
    const covered = new Set([...known.values()].flatMap(({ attempts }) => attempts.map(({ nonce }) => nonce)));
    for (let nonce = 0n; nonce < next; nonce += 1n)
      assert.ok(covered.has(nonce) || foreignUses.has(nonce), `nonce ${nonce} is below the next one, and nothing has it`);
  }

  return {
    ids: () => [...known.keys()],
    met,
    accepted: ({ transaction }) => void acceptedIds.add(transaction.id),
    look,
    async requireEnded() {
      await look();
      for (const { view, attempts } of known.values()) {
        const { id, status } = view.transaction;
        assert.ok(isFinal(status), `${id} is not final`);
        const paid = attempts.filter(({ hash, purpose }) => purpose === 'content' && chain.minedIn(hash) !== undefined).length;
        if (status === 'confirmed') assert.ok(deepReorgs || paid === 1, `${id} is confirmed, and was paid ${paid} times`);
        else if (status !== 'failed') assert.ok(deepReorgs || paid === 0, `${id} is ${status}, and was paid`);
      }
    },
    async describe() {
      const lines = [`confirmations ${confirmations}, next nonce ${await store.read.nextNonce(lane)}, on chain ${chain.accountNonce()}`];
      for (const [id, { view, attempts }] of known) {
        const { status, intent, nonce, liveVersion, mined, statusReason } = view.transaction;
        lines.push(
          `${id} ${status} intent=${intent} nonce=${nonce} live=${liveVersion} mined=${mined?.version}@${mined?.blockNumber} ${statusReason}`,
        );
        for (const { version, purpose, nonce, hash } of attempts)
          lines.push(
            `    ${purpose} v${version} nonce ${nonce} ${hash.slice(0, 10)} in block ${chain.minedIn(hash)?.number} deepest ${chain.greatestDepth(hash)}`,
          );
      }
      const told = chain.blocks.map(({ transactions }) => transactions.map(({ nonce, hash }) => `${nonce}:${hash.slice(0, 10)}`).join());
      return [...lines, `blocks: ${told.map((one, index) => `${index}[${one}]`).join(' ')}`].join('\n');
    },
  };
}
