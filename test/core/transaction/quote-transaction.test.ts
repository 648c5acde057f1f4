import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { EvmQuote } from '../../../src/core/ports/chain/quote.js';
import type { QuoteRequest, RequestContext } from '../../../src/core/ports/chain/requests.js';
import { onNetwork } from '../../../src/core/records/on-network.js';
import { defaultPolicies, type Relayer, solanaAccountChanges, stellarAccountChanges } from '../../../src/core/records/relayer.js';
import type { Transaction } from '../../../src/core/records/transaction.js';
import { type QuoteDeps, quoteTransaction, unrestricted } from '../../../src/core/transaction/quote-transaction.js';
import { evmContent, evmRelayer, evmRequest } from '../../support/evm.js';
import { solanaRelayer } from '../../support/solana.js';
import { stellarRelayer } from '../../support/stellar.js';
import { anAttempt, aTransaction } from '../../support/stored-samples.js';

const unavailable = new DomainError('unavailable', 'NODE_UNAVAILABLE', 'no RPC node is reachable');
const nothing: EvmQuote = {
  network: 'evm',
  failure: undefined,
  maximumCost: null,
  resultJson: null,
  returnData: null,
  gasLimit: null,
  gasEstimate: null,
  baseFeeWei: null,
  publishingFeeWei: null,
  price: null,
  prices: [],
};

interface World {
  readonly relayer?: Partial<Relayer>;
  readonly open?: readonly Transaction[];
  readonly balance?: () => Promise<bigint>;
  readonly quote?: (request: QuoteRequest) => Promise<EvmQuote>;
  readonly holder?: string;
  readonly isFull?: boolean;
}

/** Quotes with a chain that has the policy of a receiver alone. */
async function quoted({ relayer: over, open = [], balance = async () => 1_000n, quote = async () => nothing, holder, isFull }: World) {
  const relayer = { ...evmRelayer(`0x${'11'.repeat(20)}`, { minBalanceWei: 10n, whitelistReceivers: [] }), ...over };
  const chain = {
    contentOf(_request: unknown, { relayer: asked }: RequestContext) {
      if (onNetwork('evm', asked.policies).whitelistReceivers !== null)
        throw new DomainError('invalid', 'RECEIVER_NOT_ALLOWED', 'to is not allowed');
      return { content: evmContent({}), validUntilMs: null };
    },
    balanceOf: balance,
    lockedOf: async () => 0n,
    quote,
  };
  const deps = {
    directory: { chainOf: () => chain },
    ledger: { requireRoom: async () => undefined },
    clock: { nowMs: () => 0 },
    lanes: {
      takeRoom() {
        if (isFull) throw new DomainError('rate_limited', 'TOO_MANY_TRANSACTIONS', 'full', { metadata: { relayer_id: 'r', limit: '1' } });
        return () => undefined;
      },
    },
    store: {
      read: {
        externalIdHolder: async () => holder,
        openSummaries: async () => open,
        transactionsById: async (ids: readonly string[]) =>
          open.flatMap((transaction) =>
            ids.includes(transaction.id) ? [{ transaction, attempts: [anAttempt({ transactionId: transaction.id })] }] : [],
          ),
      },
    },
  } as unknown as QuoteDeps;
  return quoteTransaction(deps, relayer, evmRequest({}), { tags: { externalId: 'order-1', labels: [] }, asker: { apiKeyId: null } });
}

describe('quotes of transactions', () => {
  it('quote: every refusal of a send is listed, in the order of its checks, and the content is read without policies', async () => {
    const { refusals } = await quoted({ relayer: { paused: true }, holder: 'other', isFull: true });
    assert.deepEqual(
      refusals.map(({ reason }) => reason),
      ['RELAYER_PAUSED', 'RECEIVER_NOT_ALLOWED', 'EXTERNAL_ID_TAKEN', 'TOO_MANY_TRANSACTIONS'],
    );
  });

  it('quote: the balance covers the cost only beside what is in flight and what must remain', async () => {
    const sent = aTransaction({ id: 'sent', status: 'sent' });
    const { fields } = anAttempt({ transactionId: 'sent' });
    assert.equal(fields.network, 'evm');
    const open = [sent, aTransaction({ id: 'waiting', status: 'pending' }), aTransaction({ id: 'mined', status: 'mined' })];
    const { funds } = await quoted({ open });
    const reserved = funds?.reserved ?? assert.fail('no funds');
    assert.ok(reserved > 0n);
    for (const [spare, isSufficient] of [
      [0n, true],
      [-1n, false],
    ] as const) {
      const costing = { ...nothing, maximumCost: 7n };
      const quote = await quoted({ open, balance: async () => reserved + 10n + 7n + spare, quote: async () => costing });
      assert.equal(quote.funds?.isSufficient, isSufficient);
      assert.equal(quote.funds?.mustRemain, 10n);
      assert.equal(quote.ahead, 2);
    }
    assert.equal(funds?.isSufficient, null, 'the cost is unknown');
  });

  it('quote: needs no approval without rules, and the content is read with the bounds of the account alone', async () => {
    const quote = await quoted({});
    assert.equal(quote.approval, null);
    assert.deepEqual(quote.warnings, []);
    assert.equal(quote.chain, nothing);
  });

  it('quote: what policies forbid is left out, and what the account needs stays', () => {
    const evm = evmRelayer('0x1', {
      ...{ minBalanceWei: 7n, gasPriceCapWei: 8n, whitelistReceivers: [], eip1559Pricing: false, gasLimitEstimation: false },
      ...{ includeRevertData: true, maxInFlight: 3, rules: [] },
    });
    assert.deepEqual(unrestricted(evm, evmRequest({})), {
      ...evm,
      policies: {
        ...evm.policies,
        ...{ gasPriceCapWei: null, whitelistReceivers: null, gasLimitEstimation: true, allowTransactionSigning: true, rules: null },
      },
    });
    const solana = solanaRelayer('account', { minBalanceLamports: 9n, allowAccountChanges: [] });
    assert.deepEqual(unrestricted(solana, null).policies, {
      ...defaultPolicies.solana,
      minBalanceLamports: 9n,
      allowAccountChanges: solanaAccountChanges,
    });
    const stellar = stellarRelayer('account', { maxFeeStroops: 5n, allowAccountChanges: [], operationSourceAccounts: ['other'] });
    assert.deepEqual(unrestricted(stellar, null).policies, {
      ...stellar.policies,
      ...{ maxFeeStroops: null, allowAccountChanges: stellarAccountChanges, operationSourceAccounts: [] },
    });
  });

  it('quote: a part without an answer is null, with a warning that names it; any other error is thrown', async () => {
    const quote = await quoted({
      balance: () => Promise.reject(unavailable),
      quote: async ({ part }) => ({ ...nothing, gasLimit: await part('gas_limit', () => Promise.reject(unavailable)) }),
    });
    assert.equal(quote.funds, null);
    assert.deepEqual(quote.warnings.map(({ level, message }) => `${level}: ${message}`).toSorted(), [
      'warn: gas_limit is unknown: no RPC node has given a usable answer',
      'warn: the balance is unknown: no RPC node has given a usable answer',
    ]);
    await assert.rejects(quoted({ balance: () => Promise.reject(new TypeError('a bug')) }), /a bug/);
  });
});
