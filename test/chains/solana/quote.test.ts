import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { Rpc } from '../../../src/chains/rpc/rpc.js';
import { whyUnusable } from '../../../src/chains/solana/draft.js';
import type { SolanaPolicies } from '../../../src/core/records/relayer.js';
import type { SolanaInstruction } from '../../../src/core/records/solana.js';
import { solanaRelayer, solanaRequest, transferInstruction } from '../../support/solana.js';
import { funds, receiver, type SolanaChainRig, startSolanaChain } from '../../support/solana-chain-rig.js';

const system = '11111111111111111111111111111111';
const tokens = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

/** Quotes instructions; these parts are unknown. */
async function quoted(
  { chain, payer }: SolanaChainRig,
  instructions: readonly SolanaInstruction[],
  { unknown = [], policies = {} }: { unknown?: readonly string[]; policies?: Partial<SolanaPolicies> } = {},
) {
  const request = solanaRequest({ instructions });
  const unrestricted = solanaRelayer(payer);
  const { content } = chain.contentOf(request, { relayer: unrestricted, nowMs: Date.now(), earlier: null });
  return chain.quote({
    relayer: solanaRelayer(payer, policies),
    unrestricted,
    content,
    request,
    part: async (name, read) => {
      if (!unknown.includes(name)) return read();
      await read();
      return null;
    },
  });
}

const start = async (test: TestContext): Promise<SolanaChainRig> => {
  const rig = await startSolanaChain(test);
  rig.solana.chain.pool.lowestBidMicroLamports = 1_000_000n;
  await rig.advance(160);
  return rig;
};

it('quote on Solana: has the fee of the draft, the units and the logs', async (test) => {
  const rig = await start(test);
  const payment = transferInstruction(rig.payer, receiver, 7n);
  /** The limit of units, and so the fee, tells equal messages apart. */
  const shown = async (options?: Parameters<typeof quoted>[2]) => {
    const quote = await quoted(rig, [payment], options);
    assert.ok(quote.network === 'solana');
    const { feeLamports, maximumCost } = quote;
    assert.ok(feeLamports === null || (feeLamports > 6_000n && feeLamports < 8_000n), String(feeLamports));
    const value = maximumCost === null || feeLamports === null ? maximumCost : maximumCost - feeLamports;
    return { ...quote, feeLamports: feeLamports !== null, maximumCost: value };
  };
  const known = {
    network: 'solana',
    failure: null,
    maximumCost: 7n,
    feeLamports: true,
    computeUnits: 150n,
    logs: [`Program ${system} invoke [1]`, `Program ${system} success`],
  };
  assert.deepEqual(await shown(), known);
  const forbidding = { policies: { disallowedAccounts: [receiver], minBalanceLamports: funds } };
  assert.deepEqual(await shown(forbidding), known, 'what is forbidden at once is left out');
  assert.deepEqual(await shown({ unknown: ['the simulation'] }), { ...known, computeUnits: null, logs: [] });
  assert.deepEqual(await shown({ unknown: ['the fee'] }), { ...known, maximumCost: null, feeLamports: false });
  const nothing = { ...known, failure: undefined, maximumCost: null, feeLamports: false, computeUnits: null, logs: [] };
  assert.deepEqual(await shown({ unknown: ['the fee', 'the simulation'] }), nothing);
});

it('quote on Solana: what the balance does not cover costs at least its amount and the fee for its signature', async (test) => {
  const rig = await start(test);
  const quote = await quoted(rig, [transferInstruction(rig.payer, receiver, funds)]);
  assert.ok(quote.network === 'solana');
  assert.deepEqual([quote.failure?.reason, quote.failure?.revertData], ['insufficient_funds', null]);
  assert.match(quote.failure?.sentence ?? '', /^insufficient balance: the account has 10000000000 lamports/);
  assert.deepEqual([quote.maximumCost, quote.feeLamports], [funds + 5_000n, null]);
});

it('quote on Solana: a failing program has its reason, also if the draft is unknown', async (test) => {
  const rig = await start(test);
  const failing: SolanaInstruction = {
    programId: tokens,
    accounts: [{ pubkey: rig.payer, isSigner: true, isWritable: true }],
    data: Buffer.from([3, 1, 0, 0, 0, 0, 0, 0, 0]).toString('base64'),
  };
  const { sentence, refused } = await rig.refused({ instructions: [failing] });
  assert.equal(refused, 'reverts');
  const { failure } = await quoted(rig, [failing]);
  assert.ok(failure?.revertReason);
  assert.deepEqual(failure, { reason: 'would_revert', sentence, revertReason: failure.revertReason, revertData: null });
  const undrafted = await quoted(rig, [failing], { unknown: ['the fee'] });
  assert.deepEqual(undrafted.failure, { ...failure, sentence: `the simulation failed: ${failure.revertReason}` });
});

it('an account of Solana is usable only if it belongs to the system program and has no data', async () => {
  const whyOf = (state: object | null) => whyUnusable({ ask: async () => state } as unknown as Rpc, 'account', 'head');
  assert.equal(await whyOf(null), null);
  assert.equal(await whyOf({ owner: system, dataBytes: 0 }), null);
  for (const state of [
    { owner: system, dataBytes: 80 },
    { owner: tokens, dataBytes: 0 },
  ])
    assert.equal(
      await whyOf(state),
      `the account cannot pay fees: it belongs to the program ${state.owner} and has ${state.dataBytes} bytes of data; give the relayer another signer`,
    );
});
