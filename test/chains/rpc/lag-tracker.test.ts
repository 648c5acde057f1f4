import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLagTracker, type LagTracker } from '../../../src/chains/rpc/lag-tracker.js';
import { systemClock } from '../../../src/core/work/clock.js';

const blockMs = 12_000;

/** Records heights of endpoints in order, all with the same block timestamp, or without any. */
function withHeights(heights: Readonly<Record<string, number>>, timestampMs: number | null = null): LagTracker<string> {
  const tracker = createLagTracker<string>(blockMs, { ...systemClock, elapsedMs: () => 0 });
  for (const [endpoint, height] of Object.entries(heights)) tracker.record(endpoint, { number: BigInt(height), timestampMs });
  return tracker;
}

describe('lag tracker', () => {
  it('lag tracker: one of three endpoints that is far above the others is ahead, and does not make them lag', () => {
    const tracker = withHeights({ a: 100, b: 101, liar: 1_000 });
    const standing = (endpoint: string, number: bigint) => tracker.standing(endpoint, { number, timestampMs: null });
    assert.deepEqual([standing('a', 100n), standing('b', 101n), standing('liar', 1_000n)], ['level', 'level', 'ahead']);
  });

  it('lag tracker: one of three endpoints is not ahead because of blocks that came since the others were asked', () => {
    let elapsedMs = 0;
    const tracker = createLagTracker<string>(1_000, { ...systemClock, elapsedMs: () => elapsedMs });
    const position = (number: bigint) => ({ number, timestampMs: null });
    elapsedMs = 9_000;
    for (const endpoint of ['a', 'b']) tracker.record(endpoint, position(100n), 0);
    elapsedMs = 18_000;
    assert.deepEqual(
      [118n, 121n, 122n].map((number) => tracker.standing('c', position(number))),
      ['level', 'level', 'ahead'],
    );
  });

  it('lag tracker: one of three endpoints that is far below the others is behind', () => {
    const tracker = withHeights({ a: 100, b: 101, slow: 50 });
    assert.equal(tracker.standing('slow', { number: 50n, timestampMs: null }), 'behind');
    assert.equal(tracker.standing('a', { number: 100n, timestampMs: null }), 'level');
  });

  it('lag tracker: of two endpoints, the lower one is behind if the timestamps leave room for the blocks between', () => {
    const nowMs = Date.now();
    const tracker = createLagTracker<string>(blockMs, { ...systemClock, elapsedMs: () => 0 });
    tracker.record('high', { number: 112n, timestampMs: nowMs });
    tracker.record('low', { number: 100n, timestampMs: nowMs - 12 * blockMs });
    assert.equal(tracker.standing('low', { number: 100n, timestampMs: nowMs - 12 * blockMs }), 'behind');
    assert.equal(tracker.standing('high', { number: 112n, timestampMs: nowMs }), 'level');
  });

  it('lag tracker: of two endpoints, the higher one is ahead if the timestamps leave no room for the blocks between', () => {
    const nowMs = Date.now();
    const tracker = withHeights({ high: 112, low: 100 }, nowMs);
    assert.equal(tracker.standing('high', { number: 112n, timestampMs: nowMs }), 'ahead');
    assert.equal(tracker.standing('low', { number: 100n, timestampMs: nowMs }), 'level');
  });

  it('lag tracker: of two endpoints without timestamps, the one that grew faster than time allows is ahead', () => {
    let nowMs = 0;
    const tracker = createLagTracker<string>(400, { ...systemClock, elapsedMs: () => nowMs });
    const position = (number: bigint) => ({ number, timestampMs: null });
    for (const endpoint of ['honest', 'liar']) tracker.record(endpoint, position(1_000n));
    nowMs = 400;
    tracker.record('liar', position(1_000_000n));
    assert.deepEqual([tracker.standing('liar', position(1_000_000n)), tracker.standing('honest', position(1_001n))], ['ahead', 'level']);
  });

  it('lag tracker: an endpoint whose others are silent cannot jump further than its own accepted head allows', () => {
    let elapsedMs = 0;
    const tracker = createLagTracker<string>(blockMs, { ...systemClock, elapsedMs: () => elapsedMs });
    const timestampMs = Date.now() - 3_600_000;
    const head = { number: 100n, timestampMs };
    for (const endpoint of ['honest', 'liar']) tracker.record(endpoint, head);
    tracker.accept('liar', head);
    elapsedMs = 600_000;
    assert.equal(tracker.standing('liar', { number: 1_000n, timestampMs: timestampMs + elapsedMs }), 'ahead');
    assert.equal(tracker.standing('liar', { number: 150n, timestampMs: timestampMs + elapsedMs }), 'level');
  });

  it('lag tracker: a timestamp in the future gives no room', () => {
    const nowMs = Date.now();
    const tracker = withHeights({ low: 100 }, nowMs);
    assert.equal(tracker.standing('high', { number: 112n, timestampMs: nowMs + 12 * blockMs }), 'ahead');
  });

  it('lag tracker: what an endpoint showed before it contradicted itself proves nothing about another one, until it was right for 10 minutes', () => {
    let elapsedMs = 0;
    const tracker = createLagTracker<string>(blockMs, { ...systemClock, elapsedMs: () => elapsedMs });
    const block = (hash: number, number: number) => ({
      number: BigInt(number),
      timestampMs: hash * blockMs,
      hash: `h${hash}`,
      parentHash: `h${hash - 1}`,
    });
    const show = (endpoint: string, hash: number, number: number) => {
      tracker.record(endpoint, block(hash, number));
      tracker.accept(endpoint, block(hash, number));
    };
    const contradicting = (endpoint: string, position: ReturnType<typeof block>) =>
      tracker.wordsAbout(endpoint, position).flatMap(({ by, fits }) => (fits ? [] : [by]));
    show('liar', 200, 100);
    assert.deepEqual(contradicting('honest', block(200, 200)), ['liar']);
    assert.equal(tracker.standing('honest', block(210, 210)), 'ahead');
    assert.deepEqual(contradicting('liar', block(201, 100)), ['liar']);
    assert.deepEqual(contradicting('liar', block(200, 101)), ['liar']);
    tracker.distrust('liar');
    assert.deepEqual(
      [contradicting('honest', block(200, 200)), tracker.standing('honest', block(210, 210))],
      [[], 'level'],
      'its heads, and its position, are forgotten',
    );
    show('honest', 210, 210);
    show('liar', 212, 106);
    assert.deepEqual([tracker.standing('honest', block(211, 211)), tracker.standing('liar', block(212, 106))], ['level', 'behind']);
    assert.equal(tracker.standing('liar', block(640, 320)), 'ahead');
    elapsedMs = 600_000;
    for (const [endpoint, hash, number] of [
      ['honest', 260, 260],
      ['liar', 261, 261],
    ] as const)
      tracker.record(endpoint, block(hash, number));
    assert.equal(tracker.standing('honest', block(262, 300)), 'ahead', 'its word counts again');
  });

  it('lag tracker: an endpoint that contradicted itself cannot jump while the others are silent', () => {
    let elapsedMs = 0;
    const tracker = createLagTracker<string>(blockMs, { ...systemClock, elapsedMs: () => elapsedMs });
    const timestampMs = Date.now() - 3_600_000;
    const head = { number: 100n, timestampMs };
    for (const endpoint of ['honest', 'liar']) tracker.record(endpoint, head);
    tracker.accept('liar', head);
    elapsedMs = 60_000;
    tracker.distrust('liar');
    const standing = (number: bigint) => tracker.standing('liar', { number, timestampMs: timestampMs + 60_000 });
    assert.deepEqual([standing(105n), standing(1_000_000n)], ['level', 'ahead']);
  });

  it('lag tracker: beside an endpoint that contradicted itself, another one counts as if it were alone', () => {
    const timestampMs = Date.now() - 3_600_000;
    const tracker = withHeights({ honest: 100, liar: 100 }, timestampMs);
    tracker.accept('honest', { number: 100n, timestampMs });
    tracker.distrust('liar');
    tracker.record('liar', { number: 100n, timestampMs });
    assert.equal(
      tracker.standing('honest', { number: 112n, timestampMs: timestampMs + blockMs }),
      'level',
      'blocks come faster than configured',
    );
  });

  it('lag tracker: one of two endpoints whose time is in the future is ahead, unless the other one shows the same', () => {
    const present = Date.now();
    const future = present + 3_600_000;
    const standing = (other: number) => withHeights({ other: 100 }, other).standing('liar', { number: 100n, timestampMs: future });
    assert.equal(standing(present), 'ahead');
    assert.equal(standing(future), 'level', 'the clock of the service may be behind');
    const tracker = createLagTracker<string>(blockMs, { ...systemClock, elapsedMs: () => 0 });
    tracker.record('frozen', { number: 100n, timestampMs: present });
    tracker.record('honest', { number: 101n, timestampMs: future });
    assert.equal(tracker.standing('another', { number: 101n, timestampMs: future }), 'level', 'one that stands still proves nothing');
  });
});
