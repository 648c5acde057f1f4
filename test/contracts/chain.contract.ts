import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { DomainError } from '../../src/core/errors.js';
import type { Chain, ContentRequest, Draft, DraftRequest, Receipt, Sequence } from '../../src/core/ports/chain.js';
import type { Signer } from '../../src/core/ports/signer.js';
import { laneOf, type Relayer } from '../../src/core/relayer/relayer.js';
import type { Attempt, Content } from '../../src/core/transaction/transaction.js';
import { waitFor } from '../support/wait-for.js';

/** An open chain before a network of its own, and what the suite needs to do to that network. Blocks are made on command alone. */
export interface ChainRig {
  readonly chain: Chain;
  /** Holds enough for all that the suite sends. */
  readonly relayer: Relayer;
  readonly signer: Signer;
  /** A request that pays so many of the smallest unit to the receiver. */
  requestOf(amount: bigint): ContentRequest;
  /** An amount that the relayer does not hold. */
  readonly tooMuch: bigint;
  /** True: a node tells what waits in its pool. */
  readonly tellsWhatWaits: boolean;
  /** A request that a block takes and that fails there. */
  failingRequest(): Promise<ContentRequest>;
  /** What the receiver holds now, as the network itself tells. */
  received(): Promise<bigint>;
  /** Makes a block of what waits, and as many more as make it final. */
  settle(): Promise<void>;
  /** What waits is lost, and may come again. */
  loseWaiting(): Promise<void>;
  /** From now on the node answers nothing, or answers again. */
  setDown(isDown: boolean): void;
  /** Opens a chain before the same node that expects another network there: another genesis, or whatever tells networks apart. Closed with the rig. */
  expectingAnother(): Chain;
  close(): Promise<void>;
}

/**
 * What every network's chain must do behind the port. `openRig` gives a network that nothing was sent on; `counts`: accounts number their transactions
 * there.
 */
export function chainContract(name: string, openRig: () => Promise<ChainRig>, { counts }: { readonly counts: boolean }): void {
  describe(`the chain of ${name}`, () => {
    let rig: ChainRig;
    let versions = 0;

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
      versions += 1;
      const facts = { transactionId: 'tx', version: versions, purpose: 'content' as const, createdAtMs: Date.now() };
      return { ...laneOf(rig.relayer), ...facts, nonce, hash, raw, fields };
    }

    const nextNonce = (): Promise<bigint | null> => rig.chain.sequence?.nextOf(rig.relayer.address) ?? Promise.resolve(null);

    /** A version that pays so much and was not broadcast. */
    async function payment(amount: bigint, changes: Partial<DraftRequest> = {}): Promise<Attempt> {
      return signed(await drafted(contentOf(rig.requestOf(amount)), changes), await nextNonce());
    }

    async function broadcast(...attempts: readonly Attempt[]): Promise<readonly string[]> {
      return (await rig.chain.broadcastAll(attempts.map(({ raw }) => raw))).map(({ kind }) => kind);
    }

    /** Where it is in a block; null: nowhere. */
    async function receiptOf(attempt: Attempt): Promise<Receipt | null> {
      const { sequence, unsequenced } = rig.chain;
      if (attempt.nonce === null) {
        const outcome = (await unsequenced?.outcomes([attempt]))?.get(attempt.hash);
        return outcome?.kind === 'landed' ? outcome.receipt : null;
      }
      const { number } = await rig.chain.head();
      return (await sequence?.receipts([attempt.hash], { from: 0n, to: number }))?.get(attempt.hash) ?? null;
    }

    const isUnavailable = (error: unknown): boolean => error instanceof DomainError && error.reason === 'NODE_UNAVAILABLE';

    it('pays what was asked: drafted, signed, broadcast, in a block', async () => {
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
      assert.ok((await rig.chain.balanceOf(rig.relayer.address)) < held - 1_000_000n, 'amount and fee are gone');
    });

    it('signs without asking a node, the same draft to the same transaction', async () => {
      const draft = await drafted(contentOf(rig.requestOf(7n)));
      const nonce = await nextNonce();
      rig.setDown(true);
      const [one, other] = [await signed(draft, nonce), await signed(draft, nonce)];
      assert.deepEqual([one.hash, one.raw], [other.hash, other.raw]);
    });

    it('takes the same bytes as often as they come, and pays once', async () => {
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

    it('finds nothing of what was lost, and sends it again', async () => {
      const had = await rig.received();
      const attempt = await payment(13n);
      await broadcast(attempt);
      await rig.loseWaiting();
      await rig.settle();
      assert.equal(await receiptOf(attempt), null);
      assert.notEqual(await rig.chain.sequence?.knows(attempt.hash), true);
      assert.deepEqual(await broadcast(attempt), ['accepted']);
      await rig.settle();
      assert.equal((await receiptOf(attempt))?.succeeded, true);
      assert.equal(await rig.received(), had + 13n);
    });

    it('tells that a payment cannot be paid', async () => {
      const { chain, relayer } = rig;
      const draft = await chain.draft({ relayer, content: contentOf(rig.requestOf(rig.tooMuch)), outbids: [], validUntilMs: null });
      assert.ok('refused' in draft);
      assert.equal(draft.refused, 'insufficient_funds');
      assert.ok(draft.sentence.length > 0);
    });

    it('tells of a transaction that a block holds and that failed there', async () => {
      const attempt = await signed(await drafted(contentOf(await rig.failingRequest())), await nextNonce());
      await broadcast(attempt);
      await rig.settle();
      const receipt = await receiptOf(attempt);
      assert.equal(receipt?.succeeded, false);
      assert.ok((await rig.chain.whyFailed(receipt, rig.relayer)).length > 0);
    });

    it('says that no node can be asked while none can, and goes on when one can', async () => {
      const { chain, relayer } = rig;
      const attempt = await payment(17n);
      const content = contentOf(rig.requestOf(1n));
      rig.setDown(true);
      await assert.rejects(chain.head(), isUnavailable);
      await assert.rejects(chain.balanceOf(relayer.address), isUnavailable);
      // What was read a moment ago may serve for a draft; not for longer.
      const draft = () => chain.draft({ relayer, content, outbids: [], validUntilMs: null });
      const refused = await waitFor('drafts to be refused', () =>
        draft().then(
          () => undefined,
          (error: unknown) => error,
        ),
      );
      assert.ok(isUnavailable(refused));
      await assert.rejects(receiptOf(attempt), isUnavailable);
      assert.deepEqual(await broadcast(attempt), ['unknown']);
      rig.setDown(false);
      await waitFor('the node to be asked again', () => chain.head().catch(() => undefined));
      assert.deepEqual(await broadcast(attempt), ['accepted']);
    });

    it('asks no node of another network, and sends it nothing', async () => {
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

    it('knows a head that goes on', async () => {
      const before = await rig.chain.head();
      await rig.settle();
      const after = await rig.chain.head();
      assert.ok(after.number > before.number);
      assert.notEqual(after.hash, before.hash);
      assert.ok(after.timestampMs >= before.timestampMs);
    });

    it('counts what it asked', async () => {
      const before = rig.chain.calls();
      await rig.chain.head();
      const after = rig.chain.calls();
      assert.ok(after.http > before.http && after.items >= after.http - before.http);
    });

    it(counts ? 'counts what an account sends' : 'counts nothing that an account sends', () =>
      assert.equal(rig.chain.sequence !== null, counts),
    );

    describe('where an account counts its transactions', { skip: !counts }, () => {
      const withSequence = (test: (sequence: Sequence) => Promise<void>) => async (): Promise<void> => {
        assert.ok(rig.chain.sequence);
        await test(rig.chain.sequence);
      };

      it(
        'the next number moves on with each block that used one, and who used it is found',
        withSequence(async (sequence) => {
          const account = rig.relayer.address;
          const start = await rig.chain.head();
          const first = await sequence.nextOf(account);
          const attempt = await payment(19n);
          await broadcast(attempt);
          assert.equal(await sequence.knows(attempt.hash), rig.tellsWhatWaits);
          assert.equal(await sequence.nextOf(account), first);
          await rig.settle();
          assert.equal(await sequence.knows(attempt.hash), true);
          assert.equal(await sequence.nextOf(account), first + 1n);
          const { number } = await rig.chain.head();
          const found = await sequence.findSender(account, first, { from: start.number, to: number });
          const receipt = await receiptOf(attempt);
          assert.ok(receipt !== null && typeof found === 'object');
          const { hash, blockNumber, blockHash, succeeded } = receipt;
          assert.deepEqual({ ...found }, { hash, blockNumber, blockHash, succeeded });
          assert.equal(await sequence.blockHash(blockNumber), blockHash);
          assert.equal(await sequence.findSender(account, first + 1n, { from: start.number, to: number }), 'not_found');
        }),
      );

      it(
        'another version takes the place of one that waits: one of them lands, and that alone pays',
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
        'a version that is too late to outbid loses, and both are told apart',
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
        'a raised version says the same for more, and outbids',
        withSequence(async (sequence) => {
          const had = await rig.received();
          const content = contentOf(rig.requestOf(41n));
          const first = await signed(await drafted(content), await nextNonce());
          await broadcast(first);
          const raised = await sequence.bumpFee({ relayer: rig.relayer, content, live: first, outbids: [first] });
          assert.ok(!('refused' in raised));
          const next = await signed(raised, first.nonce);
          assert.deepEqual(await broadcast(next), ['accepted']);
          await rig.settle();
          assert.equal((await receiptOf(next))?.succeeded, true);
          assert.equal(await rig.received(), had + 41n);
        }),
      );

      it(
        'a filler outbids a payment, uses the number up, and pays nobody',
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
