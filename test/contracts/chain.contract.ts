import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { DomainError } from '../../src/core/errors/errors.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { Draft, DraftRequest } from '../../src/core/ports/chain/drafts.js';
import type { Receipt } from '../../src/core/ports/chain/outcomes.js';
import type { ContentRequest } from '../../src/core/ports/chain/requests.js';
import type { Sequence } from '../../src/core/ports/chain/slots.js';
import type { Signer } from '../../src/core/ports/signer.js';
import { laneOf, type Relayer } from '../../src/core/records/relayer.js';
import type { Attempt, Content } from '../../src/core/records/transaction.js';
import { waitFor } from '../support/wait-for.js';

/** An open chain on a network of its own, and the suite's control over that network. Blocks are produced on command only. */
export interface ChainRig {
  readonly chain: Chain;
  /** Has enough funds for the whole suite. */
  readonly relayer: Relayer;
  readonly signer: Signer;
  /** A request that pays `amount` of the smallest unit to the receiver. */
  requestOf(amount: bigint): ContentRequest;
  /** More than the relayer's balance. */
  readonly tooMuch: bigint;
  /** True if a node reports the transactions in its pool. */
  readonly showsPool: boolean;
  /** A request whose transaction is mined and fails. */
  failingRequest(): Promise<ContentRequest>;
  /** The receiver's balance, read from the network directly. */
  received(): Promise<bigint>;
  /** Mines the pending transactions, and as many more blocks as finality needs. */
  settle(): Promise<void>;
  /** Drops the pending transactions; they may be sent again. */
  dropPending(): Promise<void>;
  /** Stops or restores the node's answers. */
  setDown(isDown: boolean): void;
  /** Opens a chain on the same node that expects another network: another genesis, or other identity. Closed with the rig. */
  expectingAnother(): Chain;
  close(): Promise<void>;
}

/** Tests that every chain adapter must pass. `openRig` opens an unused network. `counts`: its accounts have nonces or sequence numbers. */
export function chainContract(name: string, openRig: () => Promise<ChainRig>, { counts }: { readonly counts: boolean }): void {
  describe(`${name} chain`, () => {
    let rig: ChainRig;
    let attempts = 0;

    beforeEach(async () => {
      rig = await openRig();
    });
    afterEach(() => rig.close());

    function contentOf(request: ContentRequest): Content {
      return rig.chain.contentOf(request, { relayer: rig.relayer, nowMs: Date.now(), earlier: null }).content;
    }

    async function drafted(content: Content | 'filler', changes: Partial<DraftRequest> = {}): Promise<Draft> {
      const draft = await rig.chain.draft({ relayer: rig.relayer, content, outbids: [], validUntilMs: null, ...changes });
      if ('refused' in draft) throw new Error(`${draft.refused}: ${draft.sentence}`);
      return draft;
    }

    async function signed(draft: Draft, nonce: bigint | null): Promise<Attempt> {
      const { hash, raw, fields } = await rig.chain.sign(draft, nonce, rig.signer);
      attempts += 1;
      const facts = { transactionId: 'tx', version: attempts, purpose: 'content' as const, createdAtMs: Date.now() };
      return { ...laneOf(rig.relayer), ...facts, nonce, hash, raw, fields };
    }

    const nextNonce = (): Promise<bigint | null> => rig.chain.sequence?.nextOf(rig.relayer.address) ?? Promise.resolve(null);

    /** Signs an attempt that pays `amount`, without a broadcast. */
    async function payment(amount: bigint, changes: Partial<DraftRequest> = {}): Promise<Attempt> {
      return signed(await drafted(contentOf(rig.requestOf(amount)), changes), await nextNonce());
    }

    async function broadcast(...attempts: readonly Attempt[]): Promise<readonly string[]> {
      return (await rig.chain.broadcastAll(attempts.map(({ raw }) => raw))).map(({ kind }) => kind);
    }

    /** Finds the attempt's receipt; null if no block contains it. */
    async function receiptOf(attempt: Attempt): Promise<Receipt | null> {
      const { sequence, unsequenced } = rig.chain;
      if (attempt.nonce === null) {
        const outcome = (await unsequenced?.outcomes([attempt]))?.get(attempt.hash);
        return outcome?.kind === 'landed' ? outcome.receipt : null;
      }
      const { number } = await rig.chain.head();
      return (await sequence?.receipts([attempt.hash], { from: 0n, to: number }))?.found.get(attempt.hash) ?? null;
    }

    const isUnavailable = (error: unknown): boolean => error instanceof DomainError && error.reason === 'NODE_UNAVAILABLE';

    it(`${name}: pays the requested amount: draft, sign, broadcast, receipt`, async () => {
      const [had, held] = [await rig.received(), await rig.chain.balanceOf(rig.relayer.address)];
      const attempt = await payment(1_000_000n);
      assert.equal(await receiptOf(attempt), null);
      assert.deepEqual(await broadcast(attempt), ['accepted']);
      await rig.settle();
      const receipt = await receiptOf(attempt);
      assert.equal(receipt?.hash, attempt.hash);
      assert.equal(receipt.succeeded, true);
      assert.ok(receipt.blockNumber <= (await rig.chain.head()).number);
      assert.equal(await rig.received(), had + 1_000_000n);
      assert.ok((await rig.chain.balanceOf(rig.relayer.address)) < held - 1_000_000n, 'amount and fee are deducted');
    });

    it(`${name}: signs without a node, and the same draft to the same transaction`, async () => {
      const draft = await drafted(contentOf(rig.requestOf(7n)));
      const nonce = await nextNonce();
      rig.setDown(true);
      const [one, other] = [await signed(draft, nonce), await signed(draft, nonce)];
      assert.deepEqual([one.hash, one.raw], [other.hash, other.raw]);
    });

    it(`${name}: accepts the same bytes repeatedly and pays once`, async () => {
      const had = await rig.received();
      const attempt = await payment(11n);
      assert.deepEqual(await broadcast(attempt), ['accepted']);
      const again = await broadcast(attempt, attempt);
      assert.equal(again.length, 2);
      for (const kind of again) assert.ok(kind === 'known' || kind === 'accepted', kind);
      await rig.settle();
      for (const kind of await broadcast(attempt)) assert.notEqual(kind, 'underpriced');
      await rig.settle();
      assert.equal(await rig.received(), had + 11n);
      assert.equal((await receiptOf(attempt))?.succeeded, true);
    });

    it(`${name}: finds no receipt of a dropped transaction, and sends it again`, async () => {
      const had = await rig.received();
      const attempt = await payment(13n);
      await broadcast(attempt);
      await rig.dropPending();
      await rig.settle();
      assert.equal(await receiptOf(attempt), null);
      assert.notEqual(await rig.chain.sequence?.knows(attempt.hash), true);
      assert.deepEqual(await broadcast(attempt), ['accepted']);
      await rig.settle();
      assert.equal((await receiptOf(attempt))?.succeeded, true);
      assert.equal(await rig.received(), had + 13n);
    });

    it(`${name}: refuses a payment for insufficient funds`, async () => {
      const { chain, relayer } = rig;
      const draft = await chain.draft({ relayer, content: contentOf(rig.requestOf(rig.tooMuch)), outbids: [], validUntilMs: null });
      assert.ok('refused' in draft);
      assert.equal(draft.refused, 'insufficient_funds');
      assert.ok(draft.sentence.length > 0);
    });

    it(`${name}: reports a mined transaction that failed`, async () => {
      const attempt = await signed(await drafted(contentOf(await rig.failingRequest())), await nextNonce());
      await broadcast(attempt);
      await rig.settle();
      const receipt = await receiptOf(attempt);
      assert.equal(receipt?.succeeded, false);
      assert.ok((await rig.chain.whyFailed(receipt, rig.relayer)).length > 0);
    });

    it(`${name}: throws NODE_UNAVAILABLE while no node is reachable, and recovers`, async () => {
      const { chain, relayer } = rig;
      const attempt = await payment(17n);
      const content = contentOf(rig.requestOf(1n));
      rig.setDown(true);
      await assert.rejects(chain.head(), isUnavailable);
      await assert.rejects(chain.balanceOf(relayer.address), isUnavailable);
      // A draft may use remembered answers for a moment, but not for long.
      const draft = () => chain.draft({ relayer, content, outbids: [], validUntilMs: null });
      const refused = await waitFor('drafts to fail', () =>
        draft().then(
          () => undefined,
          (error: unknown) => error,
        ),
      );
      assert.ok(isUnavailable(refused));
      await assert.rejects(receiptOf(attempt), isUnavailable);
      assert.deepEqual(await broadcast(attempt), ['unknown']);
      rig.setDown(false);
      await waitFor('the node to be used again', () => chain.head().catch(() => undefined));
      assert.deepEqual(await broadcast(attempt), ['accepted']);
    });

    it(`${name}: uses no node of another network, and sends it nothing`, async () => {
      const had = await rig.received();
      const attempt = await payment(47n);
      const other = rig.expectingAnother();
      await assert.rejects(other.head(), isUnavailable);
      await assert.rejects(other.balanceOf(rig.relayer.address), isUnavailable);
      assert.deepEqual(
        (await other.broadcastAll([attempt.raw])).map(({ kind }) => kind),
        ['unknown'],
      );
      await rig.settle();
      assert.equal(await rig.received(), had);
    });

    it(`${name}: reports an advancing head`, async () => {
      const before = await rig.chain.head();
      await rig.settle();
      const after = await rig.chain.head();
      assert.ok(after.number > before.number);
      assert.notEqual(after.hash, before.hash);
      assert.ok(after.timestampMs >= before.timestampMs);
    });

    it(`${name}: counts its calls`, async () => {
      const before = rig.chain.calls();
      await rig.chain.head();
      const after = rig.chain.calls();
      assert.ok(after.http > before.http && after.items >= after.http - before.http);
    });

    it(`${name}: has ${counts ? 'a' : 'no'} sequence`, () => assert.equal(rig.chain.sequence !== null, counts));

    describe('with sequence numbers', { skip: !counts }, () => {
      const withSequence = (test: (sequence: Sequence) => Promise<void>) => async (): Promise<void> => {
        assert.ok(rig.chain.sequence);
        await test(rig.chain.sequence);
      };

      it(
        `${name}: advances the next number with each mined transaction, and finds that transaction`,
        withSequence(async (sequence) => {
          const account = rig.relayer.address;
          const start = await rig.chain.head();
          const first = await sequence.nextOf(account);
          const attempt = await payment(19n);
          await broadcast(attempt);
          assert.equal(await sequence.knows(attempt.hash), rig.showsPool || 'unreported');
          assert.equal(await sequence.nextOf(account), first);
          await rig.settle();
          assert.equal(await sequence.knows(attempt.hash), true);
          assert.equal(await sequence.nextOf(account), first + 1n);
          const { number } = await rig.chain.head();
          const found = await sequence.findSender(account, first, { from: start.number, to: number });
          const receipt = await receiptOf(attempt);
          assert.ok(receipt !== null && typeof found === 'object');
          const { hash, blockNumber, blockHash } = receipt;
          assert.deepEqual([found.hash, found.blockNumber, found.blockHash], [hash, blockNumber, blockHash]);
          assert.equal(await sequence.blockHash(blockNumber), blockHash);
          assert.equal(await sequence.findSender(account, first + 1n, { from: start.number, to: number }), 'unused');
        }),
      );

      it(
        `${name}: replaces a pending attempt: only one is mined and pays`,
        withSequence(async () => {
          const had = await rig.received();
          const first = await payment(23n);
          await broadcast(first);
          const next = await signed(await drafted(contentOf(rig.requestOf(29n)), { outbids: [first] }), first.nonce);
          assert.deepEqual(await broadcast(next), ['accepted']);
          await rig.settle();
          assert.equal(await receiptOf(first), null);
          assert.equal((await receiptOf(next))?.succeeded, true);
          assert.equal(await rig.received(), had + 29n);
          for (const kind of await broadcast(first)) assert.notEqual(kind, 'accepted');
        }),
      );

      it(
        `${name}: rejects an attempt that comes after another one was mined, and tells both apart`,
        withSequence(async (sequence) => {
          const first = await payment(31n);
          const next = await signed(await drafted(contentOf(rig.requestOf(37n)), { outbids: [first] }), first.nonce);
          await broadcast(first);
          await rig.settle();
          const [kind] = await broadcast(next);
          assert.notEqual(kind, 'accepted');
          assert.equal((await receiptOf(first))?.succeeded, true);
          assert.equal(await receiptOf(next), null);
          assert.equal(await sequence.nextOf(rig.relayer.address), (first.nonce ?? 0n) + 1n);
        }),
      );

      it(
        `${name}: bumps the fee of the same content, and outbids`,
        withSequence(async (sequence) => {
          const had = await rig.received();
          const content = contentOf(rig.requestOf(41n));
          const first = await signed(await drafted(content), await nextNonce());
          await broadcast(first);
          const bumped = await sequence.bumpFee({ relayer: rig.relayer, content, live: first, outbids: [first], reason: 'demanded' });
          assert.ok(!('refused' in bumped));
          const next = await signed(bumped, first.nonce);
          assert.deepEqual(await broadcast(next), ['accepted']);
          await rig.settle();
          assert.equal((await receiptOf(next))?.succeeded, true);
          assert.equal(await rig.received(), had + 41n);
        }),
      );

      it(
        `${name}: a filler outbids a payment, uses its number and pays nothing`,
        withSequence(async (sequence) => {
          const had = await rig.received();
          const first = await payment(43n);
          await broadcast(first);
          const filler = await signed(await drafted('filler', { outbids: [first] }), first.nonce);
          assert.deepEqual(await broadcast(filler), ['accepted']);
          await rig.settle();
          assert.equal((await receiptOf(filler))?.succeeded, true);
          assert.equal(await sequence.nextOf(rig.relayer.address), (first.nonce ?? 0n) + 1n);
          const gap = await signed(await drafted(sequence.fillerOf(rig.relayer.address)), await nextNonce());
          await broadcast(gap);
          await rig.settle();
          assert.equal((await receiptOf(gap))?.succeeded, true);
          assert.equal(await rig.received(), had);
        }),
      );
    });
  });
}
