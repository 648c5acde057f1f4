import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { address, createAddressWithSeed } from '@solana/kit';
import { nodeUnavailable } from '../../src/chains/rpc/node-error.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { SolanaInstruction } from '../../src/core/records/solana.js';
import type { Attempt } from '../../src/core/records/transaction.js';
import { endWaiting } from '../../src/core/transaction/end-waiting.js';
import { newest } from '../../src/sandbox/solana/chain.js';
import { systemProgram } from '../../src/sandbox/solana/instructions.js';
import type { AccountState } from '../../src/sandbox/solana/runtime.js';
import { startSolana } from '../../src/sandbox/solana/start-solana.js';
import { openStore } from '../../src/storage/open-store.js';
import { type SolanaRig, type SolanaRigOptions, startSolanaEngine, startSolanaRig } from '../support/engine-rig.js';
import { solanaKey, transferInstruction } from '../support/solana.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const sol = 1_000_000_000n;
/** No block takes an attempt any more, and the last that could have is final. */
const blocksUntilDead = 150 + 1 + 31 + 2;

function systemAccount(lamports: bigint): AccountState {
  return { lamports, owner: systemProgram, data: new Uint8Array(), executable: false };
}

/** A transfer to an account that nothing else pays. */
function transferFrom({ key }: SolanaRig, lamports: bigint): SolanaInstruction {
  return transferInstruction(key.address, solanaKey().address, lamports);
}

/** The system program's `TransferWithSeed` from the account `vault` of the base account, back to that. */
function transferWithSeed(vault: string, base: string, lamports: bigint): SolanaInstruction {
  const seed = Buffer.from('vault');
  const data = Buffer.alloc(12 + 8);
  data.writeUInt32LE(11, 0);
  data.writeBigUInt64LE(lamports, 4);
  data.writeBigUInt64LE(BigInt(seed.length), 12);
  return {
    programId: systemProgram,
    accounts: [
      { pubkey: vault, isSigner: false, isWritable: true },
      { pubkey: base, isSigner: true, isWritable: true },
      { pubkey: base, isSigner: true, isWritable: true },
    ],
    data: Buffer.concat([data, seed, Buffer.alloc(32)]).toString('base64'),
  };
}

async function start(test: TestContext, options: Partial<SolanaRigOptions> = {}) {
  const rig = await startSolanaRig({ folder: await temporaryFolder(), ...options });
  test.after(() => rig.stop());
  return rig;
}

describe('transactions on Solana', () => {
  it('a transfer is signed, sent, mined and confirmed', async (test) => {
    const rig = await start(test);
    const to = solanaKey().address;
    const { transaction } = await rig.send({ instructions: [transferInstruction(rig.key.address, to, 5_000_000n)] });
    await rig.until(transaction.id, 'submitted');
    rig.solana.chain.advance(2);
    const mined = await rig.until(transaction.id, 'mined');
    assert.equal(mined.shown?.hash, (await rig.attempts(transaction.id))[0]?.hash);
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.statusReason, null);
    assert.equal(await rig.chain.balanceOf(to), 5_000_000n);
  });

  it('transactions in blocks that are not final leave room for others, and the questions about all of them stay few', async (test) => {
    const rig = await start(test, { fundsLamports: 1_000n * sol });
    const count = 600;
    const ids = await Promise.all(
      Array.from({ length: count }, async () => (await rig.send({ instructions: [transferFrom(rig, 2_000_000n)] })).transaction.id),
    );
    const minedOf = () => [...rig.told.values()].filter((statuses) => statuses.includes('mined')).length;
    const { chain, node } = rig.solana;
    // 31 blocks make a block final: none is before all are mined.
    await waitFor('all to be mined', () => {
      if (chain.pool.waiting().length > 0) chain.advance();
      return minedOf() === count ? true : undefined;
    });
    assert.ok(![...rig.told.values()].flat().includes('confirmed'));
    assert.equal(node.calls.get('getFeeForMessage'), undefined);
    for (const id of ids) await rig.untilWithBlocks(id, 'confirmed');
    const perSend = ['simulateTransaction', 'sendTransaction', 'getRecentPrioritizationFees', 'getTransaction'].map(
      (method) => (node.calls.get(method) ?? 0) / count,
    );
    assert.ok(perSend.reduce((sum, one) => sum + one) <= 2.5, perSend.join(' '));
  });

  it('a transaction whose outcome no node can know for ten minutes fails and is never signed again', async (test) => {
    let isLost = false;
    const changed = (chain: Chain): Chain => {
      const { unsequenced } = chain;
      if (unsequenced === null) return chain;
      const lost = (attempts: readonly Attempt[]) => new Map(attempts.map(({ hash }) => [hash, { kind: 'unknown' } as const]));
      return {
        ...chain,
        unsequenced: { ...unsequenced, outcomes: async (attempts) => (isLost ? lost(attempts) : unsequenced.outcomes(attempts)) },
      };
    };
    const rig = await start(test, { changed });
    const { transaction } = await rig.send({ instructions: [transferInstruction(rig.key.address, solanaKey().address, 5_000_000n)] });
    await rig.until(transaction.id, 'submitted');
    isLost = true;
    let waitedMs = 0;
    const failed = await waitFor('it to be given up', async () => {
      rig.clock.moveOn(60_000);
      waitedMs += 60_000;
      rig.solana.chain.advance();
      const view = await rig.view(transaction.id);
      return view.transaction.status === 'failed' ? view : undefined;
    });
    assert.ok(waitedMs >= 600_000, `given up after ${waitedMs} ms`);
    assert.equal(
      failed.transaction.statusReason,
      "outcome unknown: the RPC nodes no longer have the blocks that might contain it; check the account's history before you send it again",
    );
    assert.equal(failed.transaction.failureReason, 'unresolvable');
    assert.equal((await rig.attempts(transaction.id)).length, 1);
  });

  it('a transaction that no node can estimate again delays no other', async (test) => {
    let isUnanswered = false;
    const changed = (chain: Chain): Chain => ({
      ...chain,
      // The broadcast attempt is dropped, and no node can report on it again.
      broadcastAll: async (raws) => (isUnanswered ? chain.broadcastAll(raws) : raws.map(() => ({ kind: 'accepted' }))),
      draft: async (request) => {
        if (isUnanswered && JSON.stringify(request.content) === first) throw nodeUnavailable(null);
        return chain.draft(request);
      },
    });
    const rig = await start(test, { changed });
    const transfer = (lamports: bigint) => [transferInstruction(rig.key.address, solanaKey().address, lamports)];
    const { transaction } = await rig.send({ instructions: transfer(5_000_000n) });
    const first = JSON.stringify(transaction.content);
    await rig.until(transaction.id, 'submitted');
    isUnanswered = true;
    rig.solana.chain.advance(200);
    const other = await rig.send({ instructions: transfer(6_000_000n) });
    await rig.untilWithBlocks(other.transaction.id, 'confirmed');
    assert.equal((await rig.attempts(transaction.id)).length, 1);
  });

  it('of dead transactions only those that the balance pays for are signed again, in order, and the others when it does', async (test) => {
    const rig = await start(test, { hasSecondNode: true });
    const { chain } = rig.solana;
    chain.pool.losesPackets = true;
    const ids: string[] = [];
    for (let sent = 0; sent < 9; sent += 1) ids.push((await rig.send({ instructions: [transferFrom(rig, sol)] })).transaction.id);
    for (const id of ids) await rig.until(id, 'submitted');
    chain.putAccount(rig.key.address, systemAccount((sol * 3n) / 2n));
    chain.advance(blocksUntilDead);
    chain.pool.losesPackets = false;
    const [first = '', ...others] = ids;
    await rig.untilWithBlocks(first, 'confirmed');
    for (const id of others) {
      await waitFor(`${id} to wait for funds`, async () => {
        chain.advance();
        return /^waiting: insufficient balance/.test((await rig.view(id)).transaction.statusReason ?? '') || undefined;
      });
      assert.equal((await rig.attempts(id)).length, 1, 'it was signed again although the balance does not pay for it');
    }
    chain.putAccount(rig.key.address, systemAccount(10n * sol));
    for (const id of others) await rig.untilWithBlocks(id, 'confirmed');
  });

  it('a dead transaction is signed again if the balance pays for it at the present price, though not at the earlier one', async (test) => {
    const rig = await start(test, { hasSecondNode: true });
    const { chain } = rig.solana;
    chain.pool.losesPackets = true;
    chain.pool.lowestBidMicroLamports = 10n ** 10n;
    chain.advance(160);
    const { id } = (await rig.send({ instructions: [transferFrom(rig, sol)] })).transaction;
    await rig.until(id, 'submitted');
    chain.pool.lowestBidMicroLamports = 0n;
    chain.putAccount(rig.key.address, systemAccount(sol + 2_000_000n));
    chain.advance(blocksUntilDead);
    chain.pool.losesPackets = false;
    await rig.untilWithBlocks(id, 'confirmed');
    assert.equal((await rig.attempts(id)).length, 2);
  });

  it('a transaction is drafted again with the news that its first attempt has expired, so that its bid may be higher', async (test) => {
    const drafts: (boolean | undefined)[] = [];
    const changed = (chain: Chain): Chain => ({
      ...chain,
      draft(request) {
        drafts.push(request.hasWaited);
        return chain.draft(request);
      },
    });
    const rig = await start(test, { hasSecondNode: true, changed });
    const { chain } = rig.solana;
    chain.pool.losesPackets = true;
    const { id } = (await rig.send({ instructions: [transferFrom(rig, sol)] })).transaction;
    await rig.until(id, 'submitted');
    chain.advance(blocksUntilDead);
    chain.pool.losesPackets = false;
    await rig.untilWithBlocks(id, 'confirmed');
    assert.deepEqual([drafts[0], drafts.at(-1)], [undefined, true]);
  });

  it('a transaction of a restored database is not signed again, because a later attempt may have landed', async (test) => {
    const [folder, key] = [await temporaryFolder(), solanaKey()];
    const solana = await startSolana({ accounts: [{ address: key.address, lamports: 100n * sol }] });
    test.after(() => solana.stop());
    const parts = { folder, key, urls: [solana.url, (await solana.addNode()).url], makeBlock: () => solana.chain.advance() };
    const before = await startSolanaEngine(parts);
    const pay = () => before.send({ instructions: [transferInstruction(key.address, solanaKey().address, sol)] });
    const landing = (await pay()).transaction.id;
    await before.until(landing, 'submitted');
    solana.chain.advance(2);
    await before.until(landing, 'mined');
    solana.chain.pool.losesPackets = true;
    const dropped = (await pay()).transaction.id;
    await before.until(dropped, 'submitted');
    await before.stop();
    const { store } = await openStore(`sqlite:${join(folder, 'relayer.db')}`, { log: silentLog });
    const kept: string[] = [];
    await endWaiting(store, Date.now(), ({ signed }) => void kept.push(...signed.map(({ transaction }) => transaction.id)));
    assert.equal(kept.length, 2);
    await store.close();

    const rig = await startSolanaEngine(parts);
    test.after(() => rig.stop());
    assert.match((await rig.view(dropped)).transaction.statusReason ?? '', /^restored from a backup: .* not signed again$/);
    solana.chain.advance(blocksUntilDead);
    const landed = await rig.untilWithBlocks(landing, 'confirmed');
    assert.deepEqual([landed.transaction.failureReason, landed.transaction.statusReason], [null, null]);
    const { transaction } = await rig.untilWithBlocks(dropped, 'failed');
    assert.equal(transaction.failureReason, 'unresolvable');
    assert.match(transaction.statusReason ?? '', /^restored from a backup: .*; check the account's history before you resend$/);
    assert.equal((await rig.attempts(dropped)).length, 1);
  });

  it('dead transactions without funds cost the same few calls per block, however many they are', async (test) => {
    const rig = await start(test, { fundsLamports: 100n * sol, hasSecondNode: true });
    const { chain, node } = rig.solana;
    chain.pool.losesPackets = true;
    const ids: string[] = [];
    for (let sent = 0; sent < 60; sent += 1) ids.push((await rig.send({ instructions: [transferFrom(rig, sol)] })).transaction.id);
    for (const id of ids) await rig.until(id, 'submitted');
    chain.putAccount(rig.key.address, systemAccount(sol / 2n));
    chain.advance(blocksUntilDead);
    const last = ids.at(-1) ?? '';
    await waitFor('the reason', async () => {
      if (/^waiting: insufficient balance/.test((await rig.view(last)).transaction.statusReason ?? '')) return true;
      // The proof that attempts are dead may take several blocks.
      chain.advance();
      return undefined;
    });
    const heads = () => node.calls.get('getEpochInfo') ?? 0;
    const total = () => [...node.calls.values()].reduce((sum, calls) => sum + calls, 0);
    const [headsBefore, totalBefore] = [heads(), total()];
    await waitFor('ten heads', () => {
      chain.advance();
      return heads() >= headsBefore + 10 ? true : undefined;
    });
    const perHead = (total() - totalBefore) / (heads() - headsBefore);
    assert.ok(perHead < 10, `${perHead} calls per head`);
  });

  it('a transaction that needs an earlier one waits for it, and is decided when that one is mined', async (test) => {
    const rig = await start(test);
    const vault = await createAddressWithSeed({ baseAddress: address(rig.key.address), programAddress: systemProgram, seed: 'vault' });
    const { chain } = rig.solana;
    chain.pool.losesPackets = true;
    const deposit = (await rig.send({ instructions: [transferInstruction(rig.key.address, vault, sol)] })).transaction.id;
    const withdrawal = (await rig.send({ instructions: [transferWithSeed(vault, rig.key.address, sol)] })).transaction.id;
    await waitFor('the reason', async () => {
      const { status, statusReason } = (await rig.view(withdrawal)).transaction;
      assert.equal(status, 'pending');
      return (
        /^waiting: the transaction would fail: .*; will be decided when earlier transactions are mined/.test(statusReason ?? '') ||
        undefined
      );
    });
    chain.pool.losesPackets = false;
    for (const id of [deposit, withdrawal]) await rig.untilWithBlocks(id, 'confirmed');
  });

  it('a dead transaction that needs an earlier dead one is signed again after that one is mined', async (test) => {
    const rig = await start(test, { hasSecondNode: true });
    const vault = await createAddressWithSeed({ baseAddress: address(rig.key.address), programAddress: systemProgram, seed: 'vault' });
    const { chain } = rig.solana;
    chain.putAccount(vault, systemAccount(sol));
    chain.pool.losesPackets = true;
    const deposit = (await rig.send({ instructions: [transferInstruction(rig.key.address, vault, sol)] })).transaction.id;
    await rig.until(deposit, 'submitted');
    const withdrawal = (await rig.send({ instructions: [transferWithSeed(vault, rig.key.address, sol)] })).transaction.id;
    await rig.until(withdrawal, 'submitted');
    chain.putAccount(vault, systemAccount(0n));
    chain.advance(blocksUntilDead);
    chain.pool.losesPackets = false;
    for (const id of [deposit, withdrawal]) await rig.untilWithBlocks(id, 'confirmed');
  });

  it('a transaction that fails in the simulation fails at once if nothing that may change that was sent before it', async (test) => {
    const rig = await start(test);
    const vault = await createAddressWithSeed({ baseAddress: address(rig.key.address), programAddress: systemProgram, seed: 'vault' });
    rig.solana.chain.pool.losesPackets = true;
    const withdrawal = (await rig.send({ instructions: [transferWithSeed(vault, rig.key.address, sol)] })).transaction.id;
    const later = (await rig.send({ instructions: [transferFrom(rig, sol)] })).transaction.id;
    await rig.until(later, 'submitted');
    await rig.until(withdrawal, 'failed');
  });

  it('a transaction that fails in the simulation does not wait for an earlier one that waits for funds', async (test) => {
    const rig = await start(test);
    const vault = await createAddressWithSeed({ baseAddress: address(rig.key.address), programAddress: systemProgram, seed: 'vault' });
    const poor = (await rig.send({ instructions: [transferFrom(rig, 10_000_000n * sol)] })).transaction.id;
    await waitFor(
      'the reason',
      async () => /insufficient balance/.test((await rig.view(poor)).transaction.statusReason ?? '') || undefined,
    );
    const withdrawal = (await rig.send({ instructions: [transferWithSeed(vault, rig.key.address, sol)] })).transaction.id;
    await rig.until(withdrawal, 'failed');
    assert.equal((await rig.view(poor)).transaction.status, 'pending');
  });

  it('an account that was given to a program disables the relayer with the reason, until it is back', async (test) => {
    const rig = await start(test);
    const { chain } = rig.solana;
    const before = chain.account(rig.key.address, newest);
    assert.ok(before !== null);
    for (const [state, words] of [
      [{ ...before, owner: 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr' }, /^the account cannot pay fees: it belongs to the program Memo/],
      [{ ...before, data: new Uint8Array(10) }, /^the account cannot pay fees: .* has 10 bytes of data; give the relayer another signer$/],
    ] as const) {
      chain.putAccount(rig.key.address, state);
      const { transaction } = await rig.send({ instructions: [transferFrom(rig, sol)] });
      const reason = await waitFor('the relayer to be disabled', () => {
        rig.clock.moveOn(5_000);
        chain.advance();
        return rig.directory.relayer(rig.relayer.id)?.disabledReason ?? undefined;
      });
      assert.match(reason, words);
      assert.equal((await rig.view(transaction.id)).transaction.status, 'pending');
      chain.putAccount(rig.key.address, before);
      await waitFor('the relayer to be enabled', () => {
        chain.advance();
        return rig.directory.relayer(rig.relayer.id)?.disabledReason === null || undefined;
      });
      await rig.untilWithBlocks(transaction.id, 'confirmed');
    }
  });
});
