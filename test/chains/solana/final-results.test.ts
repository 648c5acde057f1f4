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
