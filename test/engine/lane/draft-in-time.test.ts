import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Draft } from '../../../src/core/ports/chain/drafts.js';
import type { OpenTransaction } from '../../../src/core/records/transaction.js';
import { noJournal } from '../../../src/core/transaction/journal.js';
import { backgroundTimers } from '../../../src/core/work/timers.js';
import { beginDraft, draftInTime, isBegun, keepDraft } from '../../../src/engine/lane/draft-in-time.js';
import type { LaneContext } from '../../../src/engine/lane/lane-context.js';
import type { Tracked } from '../../../src/engine/lane/tracked.js';
import { evmRelayer } from '../../support/evm.js';
import { aTransaction, next } from '../../support/stored-samples.js';

/** A lane with one transaction, whose drafts are numbered. */
function aLane() {
  const state = { relayer: evmRelayer('0x1'), elapsedMs: 0, drafts: 0 };
  const open: OpenTransaction = { transaction: aTransaction({ id: 't' }), attempts: [] };
  const record = { transaction: open.transaction, drafting: null } as unknown as Tracked;
  const lane = {
    transactions: {
      tracked: (id: string) => (id === 't' ? record : undefined),
      inFlightCount: () => 0,
      waiting: () => [],
      unminedUnsequencedCount: () => 0,
    },
    relayer: () => state.relayer,
    numbers: { next: 0n },
    chain: {
      draft: async () => {
        state.drafts += 1;
        return { number: state.drafts };
      },
    },
    funds: { expectRead: () => undefined },
    loops: { wakePrepare: () => undefined },
    deps: { journal: noJournal, clock: { elapsedMs: () => state.elapsedMs }, timers: backgroundTimers },
  } as unknown as LaneContext;
  return { lane, open, record, state };
}

const kept = { number: 'kept' } as unknown as Draft;

describe('drafts of a lane', () => {
  it('drafts of a lane: one that is kept is used once, without asking nodes again', async () => {
    const { lane, open, record, state } = aLane();
    assert.equal(keepDraft(lane, open, null), false);
    assert.equal(keepDraft(lane, open, kept), true);
    assert.equal(keepDraft(lane, open, kept), false, 'it has one');
    assert.deepEqual([record.drafting?.doneAtMs, record.drafting?.slowAtMs], [0, 0]);
    assert.ok(isBegun(lane, record));
    state.elapsedMs = 15_000;
    assert.equal(await draftInTime(lane, open), kept);
    assert.deepEqual([state.drafts, record.drafting], [0, null]);
    assert.deepEqual(await draftInTime(lane, open), { number: 1 });
  });

  it('drafts of a lane: one that is begun is the one that is used', async () => {
    const { lane, open, record, state } = aLane();
    beginDraft(lane, open);
    beginDraft(lane, open);
    assert.ok(isBegun(lane, record));
    assert.equal(record.drafting?.slowAtMs, 2_000);
    assert.deepEqual(await draftInTime(lane, open), { number: 1 });
    assert.equal(state.drafts, 1);
  });

  for (const [name, changes, isRevised] of [
    ['old', { elapsedMs: 15_001 }, false],
    ['by other policies', { relayer: evmRelayer('0x1') }, false],
    ['of another revision', {}, true],
  ] as const)
    it(`drafts of a lane: one that is ${name} is made again`, async () => {
      const { lane, open, record, state } = aLane();
      keepDraft(lane, open, kept);
      Object.assign(state, changes);
      const now = isRevised ? { ...open, transaction: next(open.transaction, {}) } : open;
      Object.assign(record, { transaction: now.transaction });
      assert.equal(isBegun(lane, record), false);
      assert.deepEqual(await draftInTime(lane, now), { number: 1 });
    });

  it('drafts of a lane: an old one is used for two block times if these are longer', async () => {
    const { lane, open, state } = aLane();
    const { network } = state.relayer;
    state.relayer = { ...state.relayer, network: { ...network, averageBlockTimeMs: 60_000 } };
    keepDraft(lane, open, kept);
    state.elapsedMs = 120_000;
    assert.equal(await draftInTime(lane, open), kept);
    keepDraft(lane, open, kept);
    state.elapsedMs = 240_001;
    assert.deepEqual(await draftInTime(lane, open), { number: 1 });
  });

  it('drafts of a lane: a transaction that is not in it any more has none', async () => {
    const { lane, open, state } = aLane();
    const gone = { ...open, transaction: aTransaction({ id: 'gone' }) };
    assert.equal(keepDraft(lane, gone, kept), false);
    beginDraft(lane, gone);
    assert.equal(await draftInTime(lane, gone), 'slow');
    assert.equal(state.drafts, 0);
  });
});
