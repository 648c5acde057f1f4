import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodeUnavailable } from '../../../src/chains/rpc/node-error.js';
import type { SenderUse } from '../../../src/core/ports/chain/outcomes.js';
import type { Sequence } from '../../../src/core/ports/chain/slots.js';
import type { LaneContext } from '../../../src/engine/lane/lane-context.js';
import { paidBelow } from '../../../src/engine/lane/paid-before.js';
import { aTransaction } from '../../support/stored-samples.js';

const acceptedAtMs = Date.UTC(2030, 0, 1);
const dayMs = 86_400_000;
const count = 30n;
const head = { number: 5_000n, hash: '0xhead', timestampMs: acceptedAtMs };

/** A lane that never signed, whose account has 30 nonces of another program; the last one paid what a request asks for. */
async function answerWith(
  timeOf: (nonce: bigint) => Promise<number | null>,
): Promise<{ readonly answer: string; readonly isFound: boolean }> {
  let isFound = false;
  const transaction = aTransaction({ id: 'waits', createdAtMs: acceptedAtMs });
  const sequence: Pick<Sequence, 'findSender' | 'blockHash' | 'readAgain' | 'finalBlock'> = {
    async findSender(_account, nonce): Promise<SenderUse> {
      const place = { blockNumber: 1_000n + nonce, blockHash: `0x${nonce}` };
      return { hash: `0xhash${nonce}`, ...place, timeMs: () => timeOf(nonce), does: () => nonce === count - 1n };
    },
    blockHash: async (height) => `0x${height - 1_000n}`,
    readAgain: async (receipts) => new Map(receipts.map(({ hash }) => [hash, 'same'])),
    finalBlock: async () => head.number,
  };
  const lane = {
    id: { chain: transaction.chain, account: transaction.account },
    numbers: { signed: 0n, next: 0n },
    relayer: () => ({ id: 'r', network: { averageBlockTimeMs: 12_000, requiredConfirmations: 1 } }),
    heads: { count: 100 },
    transactions: { waiting: () => [{ open: { transaction } }], tracked: () => ({ unread: null }) },
    deps: {
      store: {
        read: { callerSignature: async () => undefined },
        change: { recordRewind: () => null },
        commit: async () => {
          isFound = true;
        },
      },
    },
  };
  const answer = await paidBelow(lane as unknown as LaneContext, sequence as Sequence, head, count);
  return { answer, isFound };
}

const trueTime = async (nonce: bigint): Promise<number> =>
  nonce === count - 1n ? acceptedAtMs + 60_000 : acceptedAtMs - dayMs * Number(count - nonce);

describe('a payment below the first nonce of a lane', () => {
  it('a payment below the first nonce of a lane: is found among older ones', async () => {
    assert.deepEqual(await answerWith(trueTime), { answer: 'paid', isFound: true });
  });

  for (const [what, unproved] of [
    ['of the newest is not proved', (nonce: bigint) => nonce === count - 1n],
    ['of one in the middle is not proved', (nonce: bigint) => nonce === 14n],
    ['of none is proved', () => true],
  ] as const)
    for (const how of ['null', 'no answer'] as const)
      it(`a payment below the first nonce of a lane: is not denied while the time ${what} (${how})`, async () => {
        const { answer } = await answerWith(async (nonce) => {
          if (!unproved(nonce)) return trueTime(nonce);
          if (how === 'null') return null;
          throw nodeUnavailable(null);
        });
        assert.ok(answer === 'unproved' || answer === 'paid', answer);
      });
});
