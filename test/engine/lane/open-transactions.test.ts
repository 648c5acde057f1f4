import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isFinal, type OpenTransaction, type TransactionStatus } from '../../../src/core/records/transaction.js';
import { createOpenTransactions } from '../../../src/engine/lane/open-transactions.js';
import { evmContent, evmFieldsOf } from '../../support/evm.js';
import { runs } from '../../support/runs.js';
import { anAttempt, aTransaction } from '../../support/stored-samples.js';

/** A change of the index; `which` selects one of the transactions that allow it. */
type Step =
  | { readonly do: 'accept' }
  | { readonly do: 'sign' | 'outbid' | 'mine' | 'take back' | 'displace' | 'end' | 'drop' | 'put again'; readonly which: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Step>({ do: 'accept' }) },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constantFrom('sign', 'sign', 'outbid', 'mine', 'take back', 'displace', 'end', 'drop', 'put again' as const),
      which: fc.nat(),
    }),
  },
);

const idOf = (serial: number) => `id-${String(serial).padStart(6, '0')}`;

describe('the index of open transactions', () => {
  it('the index of open transactions: equals a plain list after any sequence of changes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const transactions = createOpenTransactions(() => false);
        /** The reference: every open transaction, in no order. */
        const all = new Map<string, OpenTransaction>();
        let serial = 0;
        let nextNonce = 0n;

        function put(open: OpenTransaction): void {
          transactions.put(open);
          if (isFinal(open.transaction.status)) all.delete(open.transaction.id);
          else all.set(open.transaction.id, open);
        }

        function one(which: number, can: (open: OpenTransaction) => boolean): OpenTransaction | undefined {
          const able = [...all.values()].filter(can);
          return able[which % able.length];
        }

        function apply(what: Step): unknown {
          if (what.do === 'accept') return put({ transaction: aTransaction({ id: idOf(serial++) }), attempts: [] });
          const { which } = what;
          const has = ({ transaction }: OpenTransaction) => transaction.nonce !== null;
          const set = (open: OpenTransaction | undefined, over: Partial<OpenTransaction['transaction']>, attempts = open?.attempts) => {
            if (open !== undefined && attempts !== undefined) put({ transaction: { ...open.transaction, ...over }, attempts });
          };
          switch (what.do) {
            case 'sign': {
              const open = one(which, (candidate) => !has(candidate));
              if (open === undefined) return;
              set(open, { nonce: nextNonce, status: 'sent' }, [...open.attempts, versionOf(open, nextNonce, which)]);
              nextNonce += 1n;
              return;
            }
            case 'outbid': {
              const open = one(which, has);
              if (open !== undefined) set(open, {}, [...open.attempts, versionOf(open, open.transaction.nonce ?? 0n, which)]);
              return;
            }
            case 'mine':
              return set(one(which, has), {
                mined: { version: 1, blockNumber: 1n, blockHash: '0x', succeeded: true, facts: null },
                status: 'mined',
              });
            case 'take back':
              return set(one(which, has), { mined: null, status: 'submitted' });
            case 'displace':
              return set(one(which, has), { nonce: null, mined: null, status: 'pending' });
            case 'end':
              return set(
                one(which, () => true),
                { status: (['confirmed', 'failed', 'expired', 'canceled'] satisfies TransactionStatus[])[which % 4] ?? 'failed' },
              );
            case 'put again':
              return set(
                one(which, () => true),
                { statusReason: `waits for ${which}` },
              );
            case 'drop': {
              const id = one(which, () => true)?.transaction.id ?? 'unknown';
              transactions.drop(id);
              all.delete(id);
              return;
            }
          }
        }

        for (const what of steps) {
          apply(what);
          const byNonce = [...all.values()]
            .filter(({ transaction }) => transaction.nonce !== null)
            .sort((a, b) => Number((a.transaction.nonce ?? 0n) - (b.transaction.nonce ?? 0n)));
          const inFlight = byNonce.filter(({ transaction }) => transaction.mined === null);
          const waiting = [...all.values()]
            .filter(({ transaction }) => transaction.nonce === null)
            .sort((a, b) => (a.transaction.id < b.transaction.id ? -1 : 1));
          assert.deepEqual(
            [...transactions.waiting()].map(({ open }) => open),
            waiting,
          );
          assert.equal(transactions.waitingCount(), waiting.length);
          assert.deepEqual([...transactions.slotted()], byNonce);
          assert.equal(transactions.slottedCount(), byNonce.length);
          assert.deepEqual([...transactions.inFlight()], inFlight);
          assert.equal(transactions.inFlightCount(), inFlight.length);
          for (const nonce of [0n, nextNonce / 2n, nextNonce]) {
            const below = inFlight.filter(({ transaction }) => (transaction.nonce ?? nonce) < nonce);
            assert.equal(transactions.inFlightBelow(nonce), below.length);
          }
          assert.equal(
            transactions.reserved(),
            inFlight.reduce((sum, open) => sum + dearest(open), 0n),
          );
          for (let known = 0; known < serial; known += 1) assert.equal(transactions.get(idOf(known)), all.get(idOf(known)));
          for (let nonce = 0n; nonce <= nextNonce; nonce += 1n)
            assert.equal(
              transactions.atNonce(nonce),
              byNonce.find(({ transaction }) => transaction.nonce === nonce),
            );
        }
      }),
      { numRuns: runs(150) },
    );
  });

  it('the index of open transactions: keeps no large content of what is not signed, and all of what is', () => {
    const transactions = createOpenTransactions(() => false);
    const content = evmContent({ data: `0x${'00'.repeat(100_000)}` });
    const large = aTransaction({ id: idOf(1), content });
    transactions.put({ transaction: large, attempts: [] });
    assert.equal(transactions.get(large.id), undefined);
    const [record] = transactions.waiting();
    assert.deepEqual([record?.open, record?.transaction.id, transactions.waitingCount()], [null, large.id, 1]);
    assert.equal(transactions.heldCharacters(), 0);
    const signed = { ...large, nonce: 0n, liveVersion: 1, status: 'sent' as const };
    transactions.put({ transaction: signed, attempts: [anAttempt({ transactionId: large.id, nonce: 0n })] });
    assert.equal(transactions.get(large.id)?.transaction, signed);
    assert.ok(transactions.heldCharacters() > 200_000);
    transactions.drop(large.id);
    assert.equal(transactions.heldCharacters(), 0);
  });

  it('the index of open transactions: may change while it is iterated', () => {
    const transactions = createOpenTransactions(() => false);
    for (let nonce = 0; nonce < 300; nonce += 1)
      transactions.put({ transaction: aTransaction({ id: idOf(nonce), nonce: BigInt(nonce), status: 'sent' }), attempts: [] });
    const seen: bigint[] = [];
    for (const { transaction } of transactions.slotted()) {
      seen.push(transaction.nonce ?? -1n);
      transactions.drop(transaction.id);
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 300 }, (_, index) => BigInt(index)),
    );
    assert.equal(transactions.slottedCount(), 0);
  });
});

function versionOf({ transaction, attempts }: OpenTransaction, nonce: bigint, salt: number) {
  const sample = anAttempt({ transactionId: transaction.id });
  return { ...sample, nonce, version: attempts.length + 1, fields: { ...sample.fields, valueWei: BigInt(salt % 1_000) } };
}

function dearest({ attempts }: OpenTransaction): bigint {
  const costs = attempts.map((attempt) => {
    const fields = evmFieldsOf(attempt);
    const { price } = fields;
    return fields.valueWei + fields.gasLimit * (price.kind === 'legacy' ? price.gasPriceWei : price.maxFeePerGasWei);
  });
  return costs.reduce((most, cost) => (cost > most ? cost : most), 0n);
}
