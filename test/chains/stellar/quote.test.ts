import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { createStellarChain } from '../../../src/chains/stellar/stellar-chain.js';
import type { StellarQuote } from '../../../src/core/ports/chain/quote.js';
import type { StellarOperation } from '../../../src/core/records/stellar.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { startStellar } from '../../../src/sandbox/stellar/server.js';
import { payment, stellarKey, stellarNetwork, stellarRelayer, stellarRequest } from '../../support/stellar.js';
import { createWallet } from '../../support/stellar-wallet.js';
import { silentLog } from '../../support/stored-samples.js';

async function start(test: TestContext) {
  const node = await startStellar();
  test.after(() => node.stop());
  const rpcUrls = [{ url: node.url, weight: 100 }];
  const chain = createStellarChain({ network: stellarNetwork(), rpcUrls, rpcTimeoutMs: 2_000, log: silentLog, clock: systemClock });
  test.after(() => chain.close());
  const [wallet, other] = [createWallet(node.ledger), createWallet(node.ledger)];
  const relayer = stellarRelayer(wallet.address);
  await chain.head();
  /** Quotes operations; these parts are unknown. */
  const quoted = async (operations: readonly StellarOperation[], unknown: readonly string[] = []): Promise<StellarQuote> => {
    const request = stellarRequest({ operations });
    const { content } = chain.contentOf(request, { relayer, nowMs: Date.now(), earlier: null });
    const quote = await chain.quote({
      relayer,
      unrestricted: relayer,
      content,
      request,
      part: async (name, read) => {
        const result = await read();
        return unknown.includes(name) ? null : result;
      },
    });
    assert.equal(quote.network, 'stellar');
    return quote as StellarQuote;
  };
  return { wallet, other, quoted };
}

const known = (operation: number, account: string, exists: boolean | null = true, hasTrustLine: boolean | null = null) => ({
  ...{ operation, account, exists, hasTrustLine },
});

it('quote on Stellar: has the fee, the cost, the sequence number and each destination', async (test) => {
  const { wallet, other, quoted } = await start(test);
  const expected = {
    network: 'stellar',
    failure: null,
    maximumCost: 212n,
    feeStroops: 200n,
    resourceFeeStroops: 0n,
    sequence: wallet.sequence() + 1n,
    resultXdr: null,
    destinations: [known(1, other.address), known(2, other.address)],
  };
  const operations = [payment(other.address, 5n), payment(other.address, 7n)];
  assert.deepEqual(await quoted(operations), expected);
  const unpriced = { ...expected, failure: undefined, maximumCost: null, feeStroops: null, resourceFeeStroops: null };
  assert.deepEqual(await quoted(operations, ['the fee']), unpriced);
  assert.deepEqual(await quoted(operations, ['the existence of destinations']), {
    ...expected,
    failure: undefined,
    destinations: [known(1, other.address, null), known(2, other.address, null)],
  });
});

it('quote on Stellar: a destination must exist, or be created by an operation before', async (test) => {
  const { other, quoted } = await start(test);
  const { address: absent } = stellarKey();
  const creationOf = (destination: string): StellarOperation => ({
    ...{ kind: 'listed', type: 'create_account', fields: { destination, starting_balance: 20_000_000n } },
  });
  const creates = creationOf(absent);
  const fails = (operation: number, problem: string, code: string) => ({
    reason: 'would_revert',
    sentence: `operation ${operation} would fail: account ${problem} (${code})`,
    revertReason: code,
    revertData: null,
  });
  for (const [operations, failure] of [
    [[creates, payment(absent, 1n)], null],
    [[payment(other.address, 1n), payment(absent, 1n)], fails(2, `${absent} does not exist`, 'op_no_destination')],
    [[payment(absent, 1n), creates], fails(1, `${absent} does not exist`, 'op_no_destination')],
    [[creates, creates], fails(2, `${absent} exists already`, 'op_already_exists')],
    [[creationOf(other.address)], fails(1, `${other.address} exists already`, 'op_already_exists')],
  ] as const)
    assert.deepEqual(
      (await quoted(operations)).failure,
      failure,
      JSON.stringify(operations, (_, part) => String(part)),
    );
  assert.deepEqual((await quoted([creates])).destinations, [known(1, absent, false)]);
});

it('quote on Stellar: a destination needs a trust line for an asset that it does not issue', async (test) => {
  const { other, quoted, wallet } = await start(test);
  const asset = { kind: 'credit4', code: 'USD', issuer: wallet.address } as const;
  const payTo = (destination: string): StellarOperation => ({ ...payment(destination, 3n), asset }) as StellarOperation;
  const pays = payTo(other.address);
  const { failure, destinations } = await quoted([pays]);
  assert.deepEqual(destinations, [known(1, other.address, true, false)]);
  assert.equal(failure?.revertReason, 'op_no_trust');
  assert.equal(failure.sentence, `operation 1 would fail: account ${other.address} has no trust line for the asset (op_no_trust)`);
  const back = await quoted([payTo(wallet.address)]);
  assert.deepEqual([back.destinations, back.failure], [[known(1, wallet.address)], null], 'an issuer needs none');
  const unread = await quoted([pays], ['has_trust_line']);
  assert.deepEqual([unread.destinations, unread.failure], [[known(1, other.address)], undefined]);
});
