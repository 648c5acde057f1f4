import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Move } from '../../../src/core/ports/lanes.js';
import type { Change } from '../../../src/core/ports/store/change.js';
import type { OpenTransaction, TransactionView } from '../../../src/core/records/transaction.js';
import { shownAttempt, transactionChanges } from '../../../src/core/transaction/transaction-changes.js';
import { evmRelayer } from '../../support/evm.js';
import { anAttempt, aTransaction, next } from '../../support/stored-samples.js';

const id = 'tx-1';
const [first, second] = [anAttempt({ transactionId: id }), anAttempt({ transactionId: id, version: 2 })];
const pending = aTransaction({ id, createdAtMs: 1, updatedAtMs: 1 });
const minedBy = (version: number) => ({ version, blockNumber: 1n, blockHash: '0x', succeeded: true, facts: null });

/** The changes of a move at the time 70,000: their names and what they were given. */
function changesOf(before: OpenTransaction, move: Move) {
  const given: unknown[] = [];
  const change = new Proxy(
    {},
    {
      get:
        (_, name) =>
        (...args: readonly unknown[]) =>
          given.push([name, ...args]) && { name },
    },
  );
  const recordEvent = (_: unknown, { transaction, shown }: TransactionView, event?: string): Change[] => {
    given.push(['event', transaction.status, transaction.updatedAtMs, shown?.version ?? null, event ?? null]);
    return [{ name: 'event' } as unknown as Change];
  };
  const deps = { store: { change }, recordEvent, clock: { nowMs: () => 70_000 } } as never;
  const { after, changes } = transactionChanges(deps, evmRelayer('0x1'), before, move);
  return { after, given, names: changes.map(({ name }) => String(name)) };
}

describe('the commit of a move', () => {
  it('commit of a move: has an event for each change of status, then the row, the attempt and what refers to it', () => {
    const sent = next(pending, { status: 'sent', nonce: 0n, liveVersion: 1 });
    const saveResponse = (view: TransactionView): Change[] => {
      assert.equal(view.shown, first);
      return [{ name: 'response' } as unknown as Change];
    };
    const move: Move = { steps: [sent], newAttempt: first, receivers: ['0x2'], saveResponse };
    const { after, given, names } = changesOf({ transaction: pending, attempts: [] }, move);
    const stored = { ...sent, updatedAtMs: 70_000 };
    assert.deepEqual(after, { transaction: stored, attempts: [first] });
    assert.deepEqual(given, [
      ['event', 'sent', 70_000, 1, null],
      ['updateTransaction', stored, { revisionBefore: pending.revision, endedAtMs: 70_000 }],
      ['insertAttempt', first],
      ['noteReceivers', id, ['0x2']],
    ]);
    assert.deepEqual(names, ['event', 'updateTransaction', 'insertAttempt', 'noteReceivers', 'response']);
  });

  it('commit of a move: a replacement writes one event with its last step, and a reason alone none', () => {
    const sent = next(pending, { status: 'sent', nonce: 0n, liveVersion: 1 });
    const before = { transaction: sent, attempts: [first] };
    const replaced = next(sent, { liveVersion: 2 });
    const silent = changesOf(before, { steps: [next(sent, { statusReason: 'waiting: 1' })], receivers: [] });
    assert.deepEqual(silent.names, ['updateTransaction']);
    const events = ({ given }: ReturnType<typeof changesOf>) => given.filter((one) => (one as readonly unknown[])[0] === 'event');
    const { status } = sent;
    const last = next(replaced, { statusReason: 'waiting: 2' });
    assert.deepEqual(events(changesOf(before, { steps: [replaced, last], newAttempt: second, writesEvent: true })), [
      ['event', status, 70_000, 2, null],
    ]);
    const delayed = next(sent, { delays: { kinds: ['waiting'], lastAtMs: 1 } });
    assert.deepEqual(events(changesOf(before, { steps: [delayed, next(delayed, {})] })), [
      ['event', status, 70_000, 1, 'transaction_delayed'],
    ]);
  });

  it('commit of a move: the time of a record never goes back', () => {
    const late = next(pending, { status: 'sent', updatedAtMs: 80_000 });
    const { after } = changesOf({ transaction: late, attempts: [] }, { steps: [next(late, { status: 'submitted' })] });
    assert.equal(after.transaction.updatedAtMs, 80_000);
  });

  it('the shown attempt is the mined one, else the live one', () => {
    const attempts = [first, second];
    for (const [over, expected] of [
      [{ mined: minedBy(1), liveVersion: 2 }, first],
      [{ mined: minedBy(2), liveVersion: 1 }, second],
      [{ mined: null, liveVersion: 2 }, second],
      [{ mined: null, liveVersion: null }, null],
      [{ mined: null, liveVersion: 3 }, null],
    ] as const)
      assert.equal(shownAttempt(next(pending, over), attempts), expected);
  });
});
