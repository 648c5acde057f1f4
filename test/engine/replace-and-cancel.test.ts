import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { DomainError } from '../../src/core/errors/errors.js';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { replaceTransaction } from '../../src/core/transaction/replace-transaction.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type EvmRig, setBalance, startEvmRig } from '../support/engine-rig.js';
import { evmFieldsOf, wanted } from '../support/evm.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const other = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';

describe('replacing and canceling', () => {
  let anvil: Anvil;
  let rig: EvmRig;

  beforeEach(async () => {
    anvil = await startAnvil({ noMining: true });
    rig = await startEvmRig(anvil, { folder: await temporaryFolder() });
  });

  afterEach(async () => {
    await rig?.stop();
    await anvil?.stop();
  });

  it('replace: an unsigned transaction is changed in place without a node call', async () => {
    await setBalance(anvil, rig.relayer.address, 0n);
    const { transaction } = await rig.send();
    await waitFor('the reason to wait', async () =>
      (await rig.view(transaction.id)).transaction.statusReason?.includes('insufficient balance') ? true : undefined,
    );
    const replaced = await replaceTransaction(rig.deps, rig.relayer, transaction.id, wanted({ to: other, valueWei: 7n }));
    assert.equal(replaced.transaction.status, 'pending');
    assert.equal(replaced.shown, null);
    await setBalance(anvil, rig.relayer.address, 10n ** 18n);
    await rig.until(transaction.id, 'submitted');
    await anvil.mine();
    const { shown } = await rig.until(transaction.id, 'confirmed');
    assert.deepEqual([evmFieldsOf(shown).to, evmFieldsOf(shown).valueWei], [other, 7n]);
    assert.equal((await rig.attempts(transaction.id)).length, 1);
  });

  it('replace: rejects a bid below the minimum and states it; accepts the minimum', async () => {
    const { transaction } = await rig.send({ maxFeePerGasWei: 2_000_000_005n, maxPriorityFeePerGasWei: 1_000_000_000n });
    await rig.until(transaction.id, 'submitted');
    const bid = (maxFeePerGasWei: bigint, maxPriorityFeePerGasWei: bigint) =>
      replaceTransaction(rig.deps, rig.relayer, transaction.id, wanted({ to: other, maxFeePerGasWei, maxPriorityFeePerGasWei }));
    // floor(2000000005 × 11 / 10) + 1 and floor(1000000000 × 11 / 10) + 1
    const minimum = [2_200_000_006n, 1_100_000_001n] as const;
    for (const [fee, tip] of [
      [minimum[0] - 1n, minimum[1]],
      [minimum[0], minimum[1] - 1n],
    ] as const) {
      await assert.rejects(bid(fee, tip), (error: DomainError) => {
        assert.equal(error.reason, 'REPLACEMENT_UNDERPRICED');
        assert.match(error.message, /2200000006/);
        assert.match(error.message, /1100000001/);
        return true;
      });
    }
    const { shown } = await bid(...minimum);
    assert.deepEqual(evmFieldsOf(shown).price, { kind: 'eip1559', maxFeePerGasWei: minimum[0], maxPriorityFeePerGasWei: minimum[1] });
  });

  it('replace: without a node a signed transaction stays as it is, with 503', async () => {
    const { transaction } = await rig.send();
    const before = await rig.until(transaction.id, 'submitted');
    await anvil.stop();
    await assert.rejects(
      replaceTransaction(rig.deps, rig.relayer, transaction.id, wanted({ to: other })),
      (error: DomainError) => error.kind === 'unavailable' && error.reason === 'NODE_UNAVAILABLE',
    );
    assert.deepEqual(await rig.view(transaction.id), before);
    assert.equal((await rig.attempts(transaction.id)).length, 1);
  });

  it('replace: if an earlier attempt wins the race, the record shows it and says so', async () => {
    const { transaction } = await rig.send({ valueWei: 5n });
    await rig.until(transaction.id, 'submitted');
    const replaced = await replaceTransaction(rig.deps, rig.relayer, transaction.id, wanted({ to: other, valueWei: 6n }));
    const [first] = await rig.attempts(transaction.id);
    await waitFor(
      'the replacement in the pool',
      async () => (await anvil.rpc('eth_getTransactionByHash', [replaced.shown?.hash])) ?? undefined,
    );
    await anvil.rpc('anvil_dropTransaction', [replaced.shown?.hash]);
    await anvil.rpc('eth_sendRawTransaction', [first?.raw]);
    await anvil.mine();
    const { transaction: ended, shown } = await rig.until(transaction.id, 'confirmed');
    assert.equal(shown?.hash, first?.hash);
    assert.equal(evmFieldsOf(shown).valueWei, 5n);
    assert.equal(ended.statusReason, 'attempt 1 was mined instead of the newest, attempt 2');
    await assert.rejects(replaceTransaction(rig.deps, rig.relayer, transaction.id, wanted()), { reason: 'TRANSACTION_CONFIRMED' });
  });

  it('cancel: an unsigned transaction ends at once; a second cancel changes nothing', async () => {
    await setBalance(anvil, rig.relayer.address, 0n);
    const { transaction } = await rig.send();
    const canceled = await cancelTransaction(rig.deps, rig.relayer, transaction.id);
    assert.equal(canceled.transaction.status, 'canceled');
    assert.deepEqual(await cancelTransaction(rig.deps, rig.relayer, transaction.id), canceled);
    await assert.rejects(replaceTransaction(rig.deps, rig.relayer, transaction.id, wanted()), { reason: 'TRANSACTION_CANCELED' });
  });

  it('cancel: a self-transfer takes the slot of a signed transaction', async () => {
    const { transaction } = await rig.send({ valueWei: 5n });
    await rig.until(transaction.id, 'submitted');
    const canceled = await cancelTransaction(rig.deps, rig.relayer, transaction.id);
    assert.equal(canceled.transaction.intent, 'cancel');
    assert.equal(evmFieldsOf(canceled.shown).to, rig.relayer.address);
    assert.deepEqual((await cancelTransaction(rig.deps, rig.relayer, transaction.id)).shown, canceled.shown);
    await assert.rejects(replaceTransaction(rig.deps, rig.relayer, transaction.id, wanted()), { reason: 'TRANSACTION_CANCELED' });
    await waitFor(
      'the self-transfer in the pool',
      async () => (await anvil.rpc('eth_getTransactionByHash', [canceled.shown?.hash])) ?? undefined,
    );
    await anvil.mine();
    const { transaction: ended, shown } = await rig.until(transaction.id, 'canceled');
    assert.equal(shown?.hash, canceled.shown?.hash);
    assert.equal(ended.confirmedAtMs, null);
    assert.equal((await rig.attempts(transaction.id)).length, 2);
    assert.deepEqual(rig.told.get(transaction.id), ['pending', 'sent', 'submitted', 'submitted', 'mined', 'canceled']);
  });

  it('replace and cancel: a mined transaction rejects both', async () => {
    const { transaction } = await rig.send();
    await rig.until(transaction.id, 'submitted');
    await anvil.mine();
    await rig.until(transaction.id, 'confirmed');
    await assert.rejects(
      cancelTransaction(rig.deps, rig.relayer, transaction.id),
      (error) => error instanceof DomainError && error.kind === 'precondition',
    );
  });

  it('replace: two at once are ordered, both attempts stored, the later one live', async () => {
    const { transaction } = await rig.send();
    await rig.until(transaction.id, 'submitted');
    const replaced = await Promise.all([
      replaceTransaction(rig.deps, rig.relayer, transaction.id, wanted({ valueWei: 11n })),
      replaceTransaction(rig.deps, rig.relayer, transaction.id, wanted({ valueWei: 12n })),
    ]);
    assert.deepEqual(replaced.map(({ shown }) => shown?.version).sort(), [2, 3]);
    const attempts = await rig.attempts(transaction.id);
    assert.equal(attempts.length, 3);
    await waitFor('the newest in the pool', async () => (await anvil.rpc('eth_getTransactionByHash', [attempts[2]?.hash])) ?? undefined);
    await anvil.mine();
    const { shown } = await rig.until(transaction.id, 'confirmed');
    assert.equal(shown?.version, 3);
  });

  it('replace and cancel: of several at once that expect the same revision, one stores an attempt and the others are refused', async () => {
    const { transaction } = await rig.send();
    const { revision } = (await rig.until(transaction.id, 'submitted')).transaction;
    const expectedRevision = BigInt(revision);
    const outcomes = await Promise.allSettled([
      replaceTransaction(rig.deps, rig.relayer, transaction.id, wanted({ valueWei: 11n }), { expectedRevision }),
      cancelTransaction(rig.deps, rig.relayer, transaction.id, expectedRevision),
      replaceTransaction(rig.deps, rig.relayer, transaction.id, wanted({ valueWei: 12n }), { expectedRevision }),
    ]);
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
    // Which comes first is open; a replacement of what is canceled is told that before its revision is compared.
    const isCanceled = outcomes[1]?.status === 'fulfilled';
    const refusal = isCanceled ? ['precondition', 'TRANSACTION_CANCELED'] : ['stale', 'REVISION_MISMATCH'];
    assert.deepEqual(
      refused.map(({ kind, reason }: DomainError) => [kind, reason]),
      [refusal, refusal],
    );
    assert.equal((await rig.attempts(transaction.id)).length, 2);
  });
});
