import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { Sequence } from '../../src/core/ports/chain/slots.js';
import { soleDatabase } from '../../src/core/ports/database-state.js';
import type { Work } from '../../src/core/ports/leases.js';
import { StoreAwayError } from '../../src/core/ports/store/change.js';
import type { Reads } from '../../src/core/ports/store/store.js';
import { systemTimers } from '../../src/core/work/timers.js';
import { createEngine } from '../../src/engine/engine.js';
import { createSoleLeases } from '../../src/engine/leases/sole.js';
import { openStore } from '../../src/storage/open-store.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type EvmRig, type EvmRigOptions, setBalance, startEvmRig } from '../support/engine-rig.js';
import { evmFieldsOf } from '../support/evm.js';
import { soleLeases } from '../support/sole-leases.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

describe('the engine on a real EVM node', () => {
  let anvil: Anvil | undefined;
  let rig: EvmRig | undefined;

  async function start(options: Partial<EvmRigOptions> = {}): Promise<{ anvil: Anvil; rig: EvmRig }> {
    anvil = await startAnvil({ noMining: true });
    rig = await startEvmRig(anvil, { folder: await temporaryFolder(), ...options });
    return { anvil, rig };
  }

  afterEach(async () => {
    await rig?.stop();
    await anvil?.stop();
    rig = undefined;
    anvil = undefined;
  });

  it('send: attempts go out in the order accepted, with one event per status', async () => {
    const { anvil, rig } = await start();
    const sent = await Promise.all(Array.from({ length: 10 }, (_, index) => rig.send({ valueWei: BigInt(index) })));
    for (const { transaction } of sent) await rig.until(transaction.id, 'submitted');
    await anvil.mine();
    const ended = await Promise.all(sent.map(({ transaction }) => rig.until(transaction.id, 'confirmed')));
    assert.deepEqual(
      ended.map(({ transaction }) => transaction.nonce),
      Array.from({ length: 10 }, (_, index) => BigInt(index)),
    );
    for (const { transaction } of sent)
      assert.deepEqual(rig.told.get(transaction.id), ['pending', 'sent', 'submitted', 'mined', 'confirmed']);
  });

  it('confirm: a transaction is confirmed at the required confirmations and not before', async () => {
    const { anvil, rig } = await start({ network: { requiredConfirmations: 3 } });
    const { transaction } = await rig.send();
    await rig.until(transaction.id, 'submitted');
    await anvil.mine(2);
    const minedView = await rig.until(transaction.id, 'mined');
    assert.equal(minedView.transaction.confirmedAtMs, null);
    await anvil.mine();
    const { transaction: ended } = await rig.until(transaction.id, 'confirmed');
    assert.notEqual(ended.confirmedAtMs, null);
  });

  it('reorg: a transaction whose block is gone is submitted again, rebroadcast and mined again', async () => {
    const { anvil, rig } = await start({ network: { requiredConfirmations: 3 } });
    const { transaction } = await rig.send();
    await rig.until(transaction.id, 'submitted');
    await anvil.mine();
    await rig.until(transaction.id, 'mined');
    await anvil.rpc('anvil_reorg', [1, []]);
    const back = await rig.until(transaction.id, 'submitted');
    assert.equal(back.transaction.mined, null);
    await waitFor('it in the pool again', async () => (await anvil.rpc('eth_getTransactionByHash', [back.shown?.hash])) ?? undefined);
    await anvil.mine(3);
    await rig.until(transaction.id, 'confirmed');
    assert.equal((await rig.attempts(transaction.id)).length, 1);
    assert.deepEqual(rig.told.get(transaction.id), ['pending', 'sent', 'submitted', 'mined', 'submitted', 'mined', 'confirmed']);
  });

  it('prepare: a transaction that would revert fails with the reason and takes no nonce', async () => {
    const { anvil, rig } = await start();
    // Runtime code that reverts with nothing: PUSH0 PUSH0 REVERT.
    const contract = '0x00000000000000000000000000000000000000Aa';
    await anvil.rpc('anvil_setCode', [contract, '0x5f5ffd']);
    const { transaction } = await rig.send({ to: '0x00000000000000000000000000000000000000aA'.toLowerCase(), data: '0x01' });
    const { transaction: ended } = await rig.until(transaction.id, 'failed');
    assert.match(ended.statusReason ?? '', /revert/);
    assert.equal(ended.nonce, null);
    const next = await rig.send();
    const { transaction: submitted } = await rig.until(next.transaction.id, 'submitted');
    assert.equal(submitted.nonce, 0n);
  });

  it('prepare: a transaction without funds waits with its reason, delays no other, and is sent when funded', async () => {
    const { anvil, rig } = await start({ fundsWei: 0n });
    const { transaction } = await rig.send();
    await waitFor('the reason', async () =>
      /balance|fund/.test((await rig.view(transaction.id)).transaction.statusReason ?? '') ? true : undefined,
    );
    assert.equal((await rig.view(transaction.id)).transaction.status, 'pending');
    await setBalance(anvil, rig.relayer.address, 10n ** 18n);
    await rig.until(transaction.id, 'submitted');
  });

  it('expire: an unsigned transaction ends at valid_until, a signed one is replaced by a self-transfer', async () => {
    const { anvil, rig } = await start();
    const validUntilMs = rig.clock.nowMs() + 60_000;
    const signed = await rig.send({ valueWei: 5n }, validUntilMs);
    await rig.until(signed.transaction.id, 'submitted');
    await setBalance(anvil, rig.relayer.address, 10n ** 15n);
    const unsigned = await rig.send({ valueWei: 10n ** 17n }, validUntilMs);
    rig.clock.moveOn(61_000);
    const { transaction: expired } = await rig.until(unsigned.transaction.id, 'expired');
    assert.equal(expired.nonce, null);
    const outbid = await waitFor('the self-transfer', async () => {
      const [, second] = await rig.attempts(signed.transaction.id);
      return second !== undefined && (await anvil.rpc('eth_getTransactionByHash', [second.hash])) !== null ? second : undefined;
    });
    assert.equal(outbid.purpose, 'expire');
    await anvil.mine();
    const { shown } = await rig.until(signed.transaction.id, 'expired');
    assert.equal(evmFieldsOf(shown).to, rig.relayer.address);
  });

  it('release slot: a transaction that the account can no longer pay for fails and unblocks those behind it', async () => {
    const { anvil, rig } = await start();
    const dear = await rig.send({ valueWei: 5n * 10n ** 18n });
    const { shown } = await rig.until(dear.transaction.id, 'submitted');
    const behind = await rig.send({ valueWei: 7n });
    await rig.until(behind.transaction.id, 'submitted');
    // The funds are gone, and the node has dropped the transactions that they no longer pay.
    await setBalance(anvil, rig.relayer.address, 10n ** 18n);
    await anvil.rpc('anvil_dropTransaction', [shown?.hash]);
    await anvil.mine();
    await waitFor('the reason to wait', async () =>
      /no RPC node has accepted it/.test((await rig.view(dear.transaction.id)).transaction.statusReason ?? '') ? true : undefined,
    );
    await waitFor('the self-transfer', async () => {
      rig.clock.moveOn(5_000);
      await anvil.mine();
      return (await rig.view(dear.transaction.id)).transaction.status === 'failed' ? true : undefined;
    });
    const { transaction: failed, shown: last } = await rig.view(dear.transaction.id);
    assert.match(
      failed.statusReason ?? '',
      /^insufficient balance; replaced by a self-transfer at nonce \d+ to unblock later transactions$/,
    );
    assert.equal(failed.failureReason, 'insufficient_funds');
    assert.equal(evmFieldsOf(last).to, rig.relayer.address);
    await waitFor('the one behind it', async () => {
      await anvil.mine();
      return (await rig.view(behind.transaction.id)).transaction.status === 'confirmed' ? true : undefined;
    });
  });

  it('bump fee: an attempt that waits too long gets the market price, at least the minimum, at most the cap', async () => {
    const capWei = 30_000_000_000n;
    const { anvil, rig } = await start({ policies: { gasPriceCapWei: capWei } });
    const { transaction } = await rig.send({ maxFeePerGasWei: 2_000_000_000n, maxPriorityFeePerGasWei: 1n });
    const { shown: first } = await rig.until(transaction.id, 'submitted');
    // The market is above the bid, and below the cap.
    const mineAbove = async (baseFeeWei: bigint) => {
      await anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${baseFeeWei.toString(16)}`]);
      await anvil.mine();
    };
    const second = await waitFor('a higher version', async () => {
      await mineAbove(5_000_000_000n);
      rig.clock.moveOn(20_000);
      return (await rig.attempts(transaction.id))[1];
    });
    assert.equal(second.nonce, first?.nonce);
    const [before, after] = [first, second].map((attempt) => evmFieldsOf(attempt).price);
    assert.ok(before?.kind === 'eip1559' && after?.kind === 'eip1559');
    assert.ok(after.maxFeePerGasWei >= (before.maxFeePerGasWei * 11n) / 10n + 1n && after.maxFeePerGasWei <= capWei);
    assert.ok(after.maxPriorityFeePerGasWei >= (before.maxPriorityFeePerGasWei * 11n) / 10n + 1n);
    const confirmed = await waitFor('the confirmation', async () => {
      await anvil.mine();
      const view = await rig.view(transaction.id);
      return view.transaction.status === 'confirmed' ? view : undefined;
    });
    assert.ok((confirmed.shown?.version ?? 0) >= 2);
    // A fee bump is no replacement, so it has no event.
    assert.deepEqual(rig.told.get(transaction.id), ['pending', 'sent', 'submitted', 'mined', 'confirmed']);
  });

  it('rebroadcast: a node that dropped a transaction gets it again', async () => {
    const { anvil, rig } = await start();
    const { transaction } = await rig.send();
    const { shown } = await rig.until(transaction.id, 'submitted');
    await anvil.rpc('anvil_dropTransaction', [shown?.hash]);
    rig.clock.moveOn(31_000);
    await waitFor('it in the pool again', async () => (await anvil.rpc('eth_getTransactionByHash', [shown?.hash])) ?? undefined);
    await anvil.mine();
    await rig.until(transaction.id, 'confirmed');
  });

  it('restart: stored attempts are broadcast and pending transactions signed in the nonces that follow', async () => {
    const folder = await temporaryFolder();
    const { anvil, rig: before } = await start({ folder });
    const sent = await Promise.all([before.send(), before.send()]);
    for (const { transaction } of sent) await before.until(transaction.id, 'submitted');
    await before.engine.stop();
    const late = await before.send();
    for (const { shown } of await Promise.all(sent.map(({ transaction }) => before.view(transaction.id)))) {
      await anvil.rpc('anvil_dropTransaction', [shown?.hash]);
    }
    // The same relayer again, in a new engine on the same store.
    const engine = createEngine({
      ...before.deps,
      leases: await soleLeases(),
      clock: before.clock,
      timers: systemTimers,
      recordRelayerState: () => [],
      database: soleDatabase,
      log: silentLog,
    });
    await engine.start();
    try {
      await before.until(late.transaction.id, 'submitted');
      await anvil.mine();
      for (const { transaction } of [...sent, late]) await before.until(transaction.id, 'confirmed');
      assert.equal((await before.view(late.transaction.id)).transaction.nonce, 2n);
      for (const { transaction } of sent) assert.equal((await before.attempts(transaction.id)).length, 1);
    } finally {
      await engine.stop();
    }
  });

  it('start: the account of a lane without open transactions is read when its first transaction comes', async () => {
    let reads = 0;
    const changedChain = (chain: Chain): Chain => {
      const sequence = chain.sequence as Sequence;
      const nextAt: Sequence['nextAt'] = (...asked) => {
        reads += 1;
        return sequence.nextAt(...asked);
      };
      return { ...chain, sequence: { ...sequence, nextAt } };
    };
    const { anvil, rig } = await start({ changedChain });
    for (const wanted of [1n, 2n]) {
      await anvil.mine();
      await waitFor('the head', async () => ((rig.engine.networks()[0]?.head?.number ?? 0n) >= wanted ? true : undefined));
    }
    assert.equal(reads, 0);
    assert.deepEqual(
      [...rig.engine.lanes()].map(({ relayerId, waiting, inFlight, oldestOpenMs }) => ({ relayerId, waiting, inFlight, oldestOpenMs })),
      [{ relayerId: rig.relayer.id, waiting: 0, inFlight: 0, oldestOpenMs: null }],
    );
    const { transaction } = await rig.send();
    await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.ok(reads > 0);
  });

  it('start: a lane that cannot read its transactions when the first one comes reads them again', async () => {
    const folder = await temporaryFolder();
    const { store } = await openStore(`sqlite:${join(folder, 'relayer.db')}`, { log: silentLog });
    let failures = 0;
    const openTransactions: Reads['openTransactions'] = async (...asked) => {
      if (failures < 2) {
        failures += 1;
        throw new StoreAwayError('the database is away');
      }
      return store.read.openTransactions(...asked);
    };
    const { rig } = await start({ folder, store: { ...store, read: { ...store.read, openTransactions } } });
    const { transaction } = await rig.send();
    await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(failures, 2);
  });

  it('stop: the work of a lease ends when nothing of its lane runs any more, also while the engine stops', async () => {
    let beginDraft = (): void => undefined;
    let endDraft = (): void => undefined;
    const begun = new Promise<void>((resolve) => {
      beginDraft = resolve;
    });
    const answered = new Promise<void>((resolve) => {
      endDraft = resolve;
    });
    const changedChain = (chain: Chain): Chain => ({
      ...chain,
      async draft(wanted) {
        beginDraft();
        await answered;
        return chain.draft(wanted);
      },
    });
    const { rig } = await start({ changedChain });
    await rig.engine.stop();
    await rig.send();
    const works: Work[] = [];
    const engine = createEngine({
      ...rig.deps,
      leases: { ...createSoleLeases(), add: async (_kind, units) => void works.push(...units.values()) },
      clock: rig.clock,
      timers: systemTimers,
      recordRelayerState: () => [],
      database: soleDatabase,
      log: silentLog,
    });
    await engine.start();
    await Promise.all(works.map((work) => work.begin()));
    await begun;
    const ended: string[] = [];
    const stopping = Promise.all([
      engine.stop().then(() => ended.push('engine')),
      ...works.map((work) => work.end().then(() => ended.push('work'))),
    ]);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(ended, []);
    endDraft();
    await stopping;
    assert.deepEqual(ended.toSorted(), ['engine', 'work']);
  });

  it('another genesis block disables the relayer, and nothing is sent', async () => {
    const folder = await temporaryFolder();
    const { rig: before } = await start({ folder });
    await waitFor('the genesis to be remembered', () => before.store.read.genesisHash('evm:31337'));
    await before.stop();
    const elsewhere = await startAnvil({ noMining: true, args: ['--timestamp', '1000000'] });
    try {
      rig = await startEvmRig(elsewhere, { folder });
      const current = rig;
      await waitFor('the relayer to be disabled', () => current.directory.relayer('r1')?.disabledReason ?? undefined);
      assert.match(current.directory.relayer('r1')?.disabledReason ?? '', /a different chain/);
      const { transaction } = await current.send();
      assert.equal((await current.view(transaction.id)).transaction.status, 'pending');
      assert.deepEqual(await elsewhere.rpc('txpool_status'), { pending: '0x0', queued: '0x0' });
    } finally {
      await rig?.stop();
      rig = undefined;
      await elsewhere.stop();
    }
  });
});
