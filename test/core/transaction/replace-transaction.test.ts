import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { OpenTransaction, Transaction } from '../../../src/core/records/transaction.js';
import { replaceTransaction } from '../../../src/core/transaction/replace-transaction.js';
import type { SendDeps } from '../../../src/core/transaction/send-transaction.js';
import { openStore } from '../../../src/storage/open-store.js';
import { stellarRelayer, stellarRequest } from '../../support/stellar.js';
import { anAttempt, aTransaction, next, silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const relayer = stellarRelayer('GA');

/** Replaces a signed transaction. The chain says whether the new content is in the sequence of the account; the lane must get no move. */
async function replaceSigned(nonce: bigint | null, isUnsequenced: boolean): Promise<unknown> {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  const waiting = aTransaction({ id: 't', relayerId: relayer.id });
  await store.commit([
    store.change.insertTransaction(waiting),
    store.change.insertAttempt(anAttempt({ transactionId: 't', nonce })),
    store.change.updateTransaction(next(waiting, { status: 'sent', nonce, liveVersion: 1 })),
  ]);
  const reached = () => assert.fail('the lane was asked');
  const current = async () => (await store.read.transactionsById(['t']))[0] as OpenTransaction;
  const chain = {
    contentOf: () => ({ content: waiting.content, validUntilMs: null }),
    isUnsequenced: () => isUnsequenced,
    unsequenced: { replacement: 'queue' },
    draft: reached,
  };
  const deps = {
    store,
    clock: { nowMs: () => 1_763_600_000_000 },
    directory: { chainOf: () => chain, relayer: () => relayer },
    lanes: { move: async (_: Transaction, decide: (current: OpenTransaction) => unknown) => assert.fail(String(decide(await current()))) },
  } as unknown as SendDeps;
  const refusal = await replaceTransaction(deps, relayer, 't', stellarRequest()).catch((error: unknown) => error);
  await store.close();
  return refusal;
}

describe('replace', () => {
  it('replace: an attempt that could be mined beside the earlier ones is refused', async () => {
    const own = await replaceSigned(7n, true);
    assert.ok(own instanceof Error);
    assert.equal(
      own.message,
      "the transaction uses the relayer's sequence number; an envelope signed by another account cannot replace it",
    );
    const foreign = await replaceSigned(null, false);
    assert.ok(foreign instanceof Error);
    assert.equal(
      foreign.message,
      'the transaction is a fee bump of a foreign envelope; only another envelope with the same source and sequence number can replace it',
    );
  });
});
