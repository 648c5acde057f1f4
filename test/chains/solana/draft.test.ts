import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { address, getAddressEncoder, getProgramDerivedAddress } from '@solana/kit';
import { computeBudgetOf } from '../../../src/chains/solana/compute-budget.js';
import { base64From, type Message, transactionBytes, transactionFromBytes } from '../../../src/chains/solana/wire.js';
import type { SolanaDraft } from '../../../src/core/records/solana.js';
import { newest } from '../../../src/sandbox/solana/chain.js';
import { transferOf, unitLimitOf, unitPriceOf } from '../../../src/sandbox/solana/instructions.js';
import { solanaKey, transferInstruction } from '../../support/solana.js';
import { funds, other, startSolanaChain, receiver as to } from '../../support/solana-chain-rig.js';
import { memoInstruction as memo } from '../../support/solana-samples.js';

const systemProgram = address('11111111111111111111111111111111');
const tokenProgram = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const associatedTokenProgram = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');

function messageOf({ message, signatures }: SolanaDraft): Message {
  const missing = signatures.map(() => new Uint8Array(64));
  return transactionFromBytes(transactionBytes(missing, Buffer.from(message, 'base64'))).message;
}

describe('draft', () => {
  it('draft: binds instructions to the newest blockhash and adds a compute budget', async (test) => {
    const { payer, solana, drafted, signed, outcomeOf, chain, advance } = await startSolanaChain(test);
    solana.chain.pool.lowestBidMicroLamports = 1_000_000n;
    await advance(160);
    const made = await drafted({ instructions: [transferInstruction(payer, to, 5n)] });
    const message = messageOf(made);
    const { unitLimit, unitPriceMicroLamports } = computeBudgetOf(message);
    assert.ok(unitLimit !== null && unitLimit >= 1_000 && unitLimit < 10_000);
    assert.equal(unitPriceMicroLamports, 1_000_000n);
    assert.equal(made.feeLamports, 5_000n + BigInt(unitLimit));
    assert.equal(made.costLamports, made.feeLamports + 5n);
    const { hash, height, slot } = solana.chain.tip({ ...newest, commitment: 'confirmed' });
    assert.deepEqual([made.recentBlockhash, made.lastValidBlockHeight, made.sinceSlot], [hash, height + 150n, slot]);
    const attempt = await signed(made);
    await chain.broadcastAll([attempt.raw]);
    await advance();
    assert.equal((await outcomeOf(attempt)).kind, 'landed');
    assert.equal(solana.chain.account(payer, newest)?.lamports, funds - made.costLamports);
  });

  it('draft: gives a transaction without other signers the newest blockhash and a compute budget', async (test) => {
    const { payer, drafted, built, advance, solana } = await startSolanaChain(test);
    const plain = [transferOf(payer, to, 5n)];
    for (const version of ['legacy', 0] as const) {
      const transaction = await built(plain, version);
      await advance(200);
      const message = messageOf(await drafted({ transaction }));
      assert.equal(message.version, version);
      assert.equal(message.blockhash, solana.chain.tip({ ...newest, commitment: 'confirmed' }).hash);
      assert.ok(computeBudgetOf(message).unitLimit !== null);
      const priced = messageOf(await drafted({ transaction: await built([...plain, unitPriceOf(77n)], version) }));
      assert.deepEqual(computeBudgetOf(priced), { unitLimit: null, unitPriceMicroLamports: 77n });
      const limited = messageOf(await drafted({ transaction: await built([...plain, unitLimitOf(7_777)], version) }));
      assert.equal(computeBudgetOf(limited).unitLimit, 7_777);
    }
  });

  it('draft: leaves the default limit of units if the node does not report what the simulation consumed', async (test) => {
    const { payer, solana, drafted, advance } = await startSolanaChain(test);
    solana.node.condition.reportsUnits = false;
    solana.chain.pool.lowestBidMicroLamports = 1_000n;
    await advance(160);
    const { unitLimit } = computeBudgetOf(messageOf(await drafted({ instructions: [memo(), memo(), transferInstruction(payer, to, 5n)] })));
    assert.ok(unitLimit !== null && unitLimit >= 400_000, String(unitLimit));
  });

  it('draft: names the fee that the runtime takes if a caller sets a price and no limit', async (test) => {
    const { payer, drafted, built, signed, chain, advance, outcomeOf, solana } = await startSolanaChain(test);
    const made = await drafted({ transaction: await built([transferOf(payer, to, 5n), unitPriceOf(1_000_000n)]) });
    const attempt = await signed(made);
    await chain.broadcastAll([attempt.raw]);
    await advance();
    const outcome = await outcomeOf(attempt);
    assert.ok(outcome.kind === 'landed');
    assert.equal(outcome.receipt.facts?.feePaid, funds - 5n - (solana.chain.account(payer, newest)?.lamports ?? 0n));
  });

  it('draft: keeps a transaction that others signed unchanged', async (test) => {
    const { drafted, built, signed, chain, advance, outcomeOf, solana } = await startSolanaChain(test);
    const transaction = await built([transferOf(other.address, to, 5n)], 0, [other]);
    const { height } = solana.chain.tip(newest);
    const made = await drafted({ transaction });
    assert.equal(made.message, base64From(Buffer.from(transaction, 'base64').subarray(1 + 2 * 64)));
    assert.equal(made.lastValidBlockHeight, height + 150n);
    assert.deepEqual([made.feeLamports, made.costLamports], [10_000n, 10_000n]);
    const attempt = await signed(made);
    await chain.broadcastAll([attempt.raw]);
    await advance();
    assert.equal((await outcomeOf(attempt)).kind, 'landed');
  });

  it('draft: bids at most what the policy allows, and nothing without a market', async (test) => {
    const { payer, solana, drafted, advance } = await startSolanaChain(test);
    const request = { instructions: [transferInstruction(payer, to, 5n)] };
    assert.equal(computeBudgetOf(messageOf(await drafted(request))).unitPriceMicroLamports, null);
    solana.chain.pool.lowestBidMicroLamports = 10n ** 12n;
    await advance(160);
    const capped = await drafted(request, { maxAllowedFeeLamports: 6_000n });
    assert.ok(capped.feeLamports > 5_900n && capped.feeLamports <= 6_000n, String(capped.feeLamports));
    const uncapped = await drafted(request);
    assert.ok(uncapped.feeLamports > 9_000_000n && uncapped.feeLamports <= 10_005_000n, String(uncapped.feeLamports));
  });

  it('draft: makes no two identical attempts if the relayer is the only signer', async (test) => {
    const { payer, drafted, refused, signed, built, advance } = await startSolanaChain(test);
    const request = { instructions: [transferInstruction(payer, to, 5n)] };
    const versions = await Promise.all(Array.from({ length: 8 }, async () => signed(await drafted(request))));
    assert.equal(new Set(versions.map(({ hash }) => hash)).size, 8);
    // Nothing of this attempt can be varied.
    const transaction = await built([transferOf(payer, to, 5n), unitPriceOf(1n)]);
    const first = await signed(await drafted({ transaction }));
    assert.deepEqual(await refused({ transaction }), {
      refused: 'reverts',
      sentence: 'identical to another transaction with the newest blockhash',
      lasting: false,
    });
    await advance();
    assert.notEqual((await signed(await drafted({ transaction }))).hash, first.hash);
  });
});

describe('draft: refuses', () => {
  it('draft: refuses a transaction that would fail, with the program log', async (test) => {
    const { payer, refused } = await startSolanaChain(test);
    const transfer = transferInstruction(payer, to, 5n);
    const garbage = { ...transfer, accounts: [], data: Buffer.from([99, 0, 0, 0]).toString('base64') };
    assert.deepEqual(await refused({ instructions: [transfer, garbage] }), {
      refused: 'reverts',
      sentence: 'the transaction would fail: instruction 1 failed with InvalidInstructionData',
      lasting: true,
    });
    const newAccount = { ...transferInstruction(payer, solanaKey().address, 1n) };
    const poor = await refused({ instructions: [newAccount] });
    assert.equal(poor.refused, 'reverts');
    assert.match(poor.sentence, /^the transaction would fail: InsufficientFundsForRent/);
  });

  it('draft: refuses a transaction that the account cannot pay and keep its minimum balance', async (test) => {
    const { payer, refused, drafted } = await startSolanaChain(test, { lamports: 1_000_000n });
    const of = (lamports: bigint) => ({ instructions: [transferInstruction(payer, to, lamports)] });
    assert.deepEqual(await refused(of(995_001n)), {
      refused: 'insufficient_funds',
      sentence: 'insufficient balance: the account has 1000000 lamports, the transaction may cost 1000001 lamports',
      lasting: false,
    });
    assert.deepEqual(await refused(of(10_000n), { minBalanceLamports: 985_001n }), {
      refused: 'insufficient_funds',
      sentence:
        'insufficient balance: the account has 1000000 lamports, the transaction may cost 15000 lamports, and 985001 lamports must remain',
      lasting: false,
    });
    assert.equal((await drafted(of(10_000n), { minBalanceLamports: 985_000n })).costLamports, 15_000n);
  });

  it('draft: refuses a transaction whose rent, paid by a program, would leave less than the minimum balance', async (test) => {
    const { payer, refused, drafted, solana } = await startSolanaChain(test);
    const mint = solanaKey().address;
    const data = new Uint8Array(82);
    data.set([1], 45);
    solana.chain.putAccount(mint, { lamports: 10n ** 9n, owner: tokenProgram, data, executable: false });
    const [tokenAccount] = await getProgramDerivedAddress({
      programAddress: associatedTokenProgram,
      seeds: [to, tokenProgram, mint].map((key) => getAddressEncoder().encode(address(key))),
    });
    const use = (pubkey: string, isWritable = false, isSigner = false) => ({ pubkey, isSigner, isWritable });
    const accounts = [use(payer, true, true), use(tokenAccount, true), use(to), use(mint), use(systemProgram), use(tokenProgram)];
    const instructions = [{ programId: associatedTokenProgram, accounts, data: 'AQ==' }];
    const rent = 2_039_280n;
    const limit = funds - rent - 5_000n;
    assert.equal((await drafted({ instructions }, { minBalanceLamports: limit })).costLamports, rent + 5_000n);
    assert.deepEqual(await refused({ instructions }, { minBalanceLamports: limit + 1n }), {
      refused: 'insufficient_funds',
      sentence: `insufficient balance: the account has ${funds} lamports, the transaction may cost ${rent + 5_000n} lamports, and ${limit + 1n} lamports must remain`,
      lasting: false,
    });
  });

  it('draft: the verdict of the simulation comes before the fee, which nodes do not name for a transaction that they cannot read', async (test) => {
    const { payer, refused, solana } = await startSolanaChain(test);
    const transfer = { ...transferInstruction(payer, to, 5n), accounts: [] };
    solana.node.fail('getFeeForMessage', { error: { code: -32602, message: 'invalid transaction message' } }, 9);
    const refusal = await refused({ instructions: [transfer] });
    assert.deepEqual([refusal.refused, refusal.lasting], ['reverts', true], refusal.sentence);
  });

  it('draft: refuses a fee above the policy limit', async (test) => {
    const { payer, refused } = await startSolanaChain(test);
    const request = { instructions: [transferInstruction(payer, to, 5n)] };
    await assert.rejects(
      refused(request, { maxAllowedFeeLamports: 4_999n }),
      /costs a fee of 5000 lamports; the relayer's max_allowed_fee_lamports allows at most 4999/,
    );
  });

  it('draft: refuses an invalid blockhash that others signed, for good only after a while because the node may lag', async (test) => {
    const { built, refused, advance, pass } = await startSolanaChain(test);
    const transaction = await built([transferOf(other.address, to, 5n)], 0, [other]);
    await advance(200);
    const sentence = 'its blockhash has expired or is unknown to the network, and it cannot get a new one because others signed it';
    assert.deepEqual(await refused({ transaction }), { refused: 'outdated', sentence, lasting: false });
    pass(10_000);
    assert.deepEqual(await refused({ transaction }), { refused: 'outdated', sentence, lasting: true });
  });
});
