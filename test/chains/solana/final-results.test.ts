import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodeUnavailable } from '../../../src/chains/rpc/node-error.js';
import type { Rpc } from '../../../src/chains/rpc/rpc.js';
import type { SolanaAttempt } from '../../../src/chains/solana/absence.js';
import { createFinalResults } from '../../../src/chains/solana/final-results.js';
import type { Positions } from '../../../src/chains/solana/positions.js';
import { silentLog } from '../../support/stored-samples.js';

const status = { slot: 1_000n, isFinal: true, error: null };
const honest = { slot: 1_100n, value: [status] };
/** It says that its newest block, which is recent, is below the result. */
const low = { slot: 900n, value: [null] };
/** A message without instructions. */
const raw =
  'AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABAAECAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHAA==';
const attempt = { hash: 'signature', raw, fields: { feeLamports: 5_000n, sinceSlot: 990n } } as unknown as SolanaAttempt;

describe('final results by several endpoints', () => {
  for (const [what, endpoints, finalAfterMs] of [
    ['honest, honest', [honest, honest], 0],
    ['honest, low', [honest, low], null],
    ['honest, low, honest', [honest, low, honest], 60_000],
    ['honest, honest, low', [honest, honest, low], 0],
    ['honest, low, low', [honest, low, low], null],
  ] as const)
    it(`final results by several endpoints: ${what}: ${finalAfterMs === null ? 'waits' : `final after ${finalAfterMs} ms`}`, async () => {
      let nowMs = Date.UTC(2030, 0, 1);
      const clock = { nowMs: () => nowMs, elapsedMs: () => nowMs };
      const rpc = {
        newestNumber: () => 1_100n,
        isSingle: () => false,
        async ask(_call: object, { first, answeredBy }: { first: { otherThan: ReadonlySet<number> }; answeredBy?: Set<number> }) {
          const by = endpoints.findIndex((_, place) => !first.otherThan.has(place));
          if (by === -1) throw nodeUnavailable(null);
          answeredBy?.add(by);
          return endpoints[by];
        },
        async call({ method }: { method: string }) {
          if (method === 'getBlockTime') return nowMs - 1_000;
          throw nodeUnavailable(null);
        },
        batch: async (calls: readonly object[]) => calls.map(() => ({ error: nodeUnavailable(null), by: null })),
      } as unknown as Rpc;
      const positions = { confirmed: async () => ({ slot: 1_100n, height: 1_000n }) } as unknown as Positions;
      const results = createFinalResults({ rpc, positions, clock, log: silentLog, networkName: 'network' });
      const sinceMs = nowMs;
      let afterMs: number | null = null;
      for (; nowMs <= sinceMs + 3_600_000 && afterMs === null; nowMs += 5_000) {
        const final = [{ attempt, slot: status.slot, status }];
        const shown = (await results.confirm({ final, withHistory: true, answeredBy: new Set([0]) })).get(attempt.hash);
        if (shown !== undefined && shown !== 'disputed') afterMs = nowMs - sinceMs;
      }
      assert.equal(afterMs, finalAfterMs);
    });
});

describe('final results of endpoints that are in reach one after the other', () => {
  /** What endpoint 0 and then endpoint 1 call final, each while the other one does not answer. */
  const start = () => {
    let nowMs = Date.UTC(2030, 0, 1);
    const clock = { nowMs: () => nowMs, elapsedMs: () => nowMs };
    const silent = async () => {
      throw nodeUnavailable(null);
    };
    const batch = async (calls: readonly object[]) => calls.map(() => ({ error: nodeUnavailable(null), by: null }));
    const rpc = { newestNumber: () => 1_100n, isSingle: () => false, ask: silent, call: silent, batch } as unknown as Rpc;
    const positions = { confirmed: async () => ({ slot: 1_100n, height: 1_000n }) } as unknown as Positions;
    const results = createFinalResults({ rpc, positions, clock, log: silentLog, networkName: 'network' });
    return async (by: number, slot: bigint, error: object | null, passMs: number) => {
      nowMs += passMs;
      const shown = { slot, isFinal: true, error: error as typeof status.error };
      const reading = { final: [{ attempt, slot, status: shown }], withHistory: false, answeredBy: new Set([by]) };
      const result = (await results.confirm(reading)).get(attempt.hash);
      return typeof result === 'object' ? 'final' : (result ?? 'waits');
    };
  };

  it('final results: what two show at different times is final', async () => {
    const shows = start();
    assert.equal(await shows(0, 1_000n, null, 0), 'waits');
    assert.equal(await shows(1, 1_000n, null, 23_000), 'final');
  });

  for (const [what, slot, error] of [
    ['another slot', 998n, null],
    ['another result', 1_000n, { InstructionError: [0, 'Custom'] }],
  ] as const)
    it(`final results: ${what} of the second one is disputed for as long as the word of the first one counts`, async () => {
      const shows = start();
      assert.equal(await shows(0, 1_000n, null, 0), 'waits');
      for (let ms = 0; ms < 570_000; ms += 30_000) assert.equal(await shows(1, slot, error, 30_000), 'disputed');
      assert.equal(await shows(0, 1_000n, null, 1_000), 'disputed');
    });

  it('final results: the word of one that stays alone counts after a minute', async () => {
    const shows = start();
    assert.equal(await shows(1, 1_000n, null, 0), 'waits');
    assert.equal(await shows(1, 1_000n, null, 59_000), 'waits');
    assert.equal(await shows(1, 1_000n, null, 1_000), 'final');
  });
});
