import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { Asset, Keypair, Operation, scValToNative, xdr } from '@stellar/stellar-sdk';
import { rest, rpcCallers } from '../support/callers.js';
import { paymentBody, type StellarService, startStellarService } from '../support/network-service.js';
import { createWallet, type Wallet } from '../support/stellar-wallet.js';

describe('quotes on Stellar', () => {
  let rig: StellarService;
  let [bob, issuer]: readonly [Wallet?, Wallet?] = [];
  before(async () => {
    rig = await startStellarService({ node: { expectedCloseSeconds: 0 } });
    [bob, issuer] = [createWallet(rig.ledger), createWallet(rig.ledger)];
  });
  after(() => rig?.stop());
  afterEach(() => rig.node.setOutcome(null));

  const path = () => `/relayers/${rig.home.relayerId}/transactions/quote`;
  async function quoteOf(body: object) {
    const answer = await rest(rig.service.baseUrl, 'POST', path(), body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.data;
  }
  const sequence = (): bigint => rig.ledger.latest().state.accounts.get(rig.home.address)?.sequence ?? 0n;
  const usd = () => ({ type: 'credit4', code: 'USD', issuer: String(issuer?.address) });
  const invoke = (name: string, args: readonly object[] = []) => ({
    network: 'local',
    operations: [{ type: 'invoke_contract', contract_address: rig.ledger.testContract, function_name: name, args }],
  });

  it('quote: a payment on Stellar, in REST and over gRPC; nothing is sent', async () => {
    const body = paymentBody(String(bob?.address), 5_000n);
    const quote = await quoteOf(body);
    assert.deepEqual(
      [quote.accepted, quote.would_succeed, quote.fee, quote.resource_fee, quote.sequence_number, quote.transactions_ahead],
      [true, true, 100, 0, String(sequence() + 1n), 0],
    );
    assert.deepEqual(quote.destinations, [{ operation: 1, account: bob?.address, exists: true }]);
    assert.deepEqual([quote.funds.sufficient, quote.funds.cost, quote.funds.must_remain], [true, '5100', '10000000']);
    for (const caller of rpcCallers(rig.service.baseUrl)) {
      const stellar = { network: 'local', operations: [{ payment: { destination: bob?.address, amount: '5000', asset: { native: {} } } }] };
      const answer = await caller.call('TransactionService', 'QuoteTransaction', { relayer_id: rig.home.relayerId, stellar });
      assert.ok(answer.ok, `${caller.protocol} ${JSON.stringify(answer)}`);
      const found = answer.response.quote as { would_succeed: boolean; stellar: { fee: string } };
      assert.deepEqual([found.would_succeed, found.stellar.fee], [true, '100']);
      caller.close();
    }
    assert.equal((await rig.client.list()).length, 0);
    assert.equal(rig.ledger.waiting().length, 0);
  });

  it('quote: a destination that is missing, or has no trust line, on Stellar', async () => {
    const stranger = Keypair.random().publicKey();
    const missing = await quoteOf(paymentBody(stranger, 5n));
    assert.equal(missing.would_succeed, false);
    assert.deepEqual(missing.destinations, [{ operation: 1, account: stranger, exists: false }]);
    assert.equal(missing.failure.error, `operation 1 would fail: account ${stranger} does not exist (op_no_destination)`);
    assert.equal(missing.failure.revert_reason, 'op_no_destination');
    const credit = { type: 'payment', destination: bob?.address, amount: '5', asset: usd() };
    const untrusted = await quoteOf({ network: 'local', operations: [credit] });
    assert.deepEqual(untrusted.destinations, [{ operation: 1, account: bob?.address, exists: true, has_trust_line: false }]);
    assert.deepEqual([untrusted.would_succeed, untrusted.failure.revert_reason], [false, 'op_no_trust']);
    rig.ledger.submit((bob as Wallet).build([Operation.changeTrust({ asset: new Asset('USD', String(issuer?.address)) })]).toXdr());
    rig.ledger.close();
    const trusted = await quoteOf({ network: 'local', operations: [credit] });
    assert.equal(trusted.destinations[0].has_trust_line, true);
    assert.equal('would_succeed' in trusted, false, 'nodes do not simulate the balance of an asset');
    const toIssuer = await quoteOf({ network: 'local', operations: [{ ...credit, destination: issuer?.address }] });
    assert.deepEqual(toIssuer.destinations, [{ operation: 1, account: issuer?.address, exists: true }]);
    const created = await quoteOf({
      network: 'local',
      operations: [
        { type: 'create_account', destination: stranger, starting_balance: '20000000' },
        { ...credit, destination: stranger, asset: { type: 'native' } },
      ],
    });
    assert.equal(created.would_succeed, true, JSON.stringify(created));
    assert.equal(created.funds.cost, '20000205');
  });

  it('quote: a contract call on Stellar returns its result, and its failure', async () => {
    const quote = await quoteOf(invoke('echo', [{ u32: 7 }]));
    assert.equal(quote.would_succeed, true, JSON.stringify(quote));
    assert.equal(scValToNative(xdr.ScVal.fromXdr(quote.result_xdr, 'base64')), 7);
    assert.ok(quote.resource_fee > 0 && quote.fee > quote.resource_fee);
    assert.equal(quote.funds.cost, String(quote.fee));
    const failing = await quoteOf(invoke('fail'));
    assert.equal(failing.would_succeed, false);
    assert.equal(failing.failure.reason, 'wouldRevert');
    assert.match(failing.failure.error, /the simulation failed/);
    assert.equal('result_xdr' in failing, false);
  });

  it('quote: the balance does not cover it, and policies refuse it, on Stellar', async () => {
    const dear = await quoteOf(paymentBody(String(bob?.address), 1_000_000_000_000n));
    assert.equal(dear.funds.sufficient, false);
    const foreign = { type: 'payment', destination: bob?.address, amount: '5', asset: { type: 'native' }, source_account: bob?.address };
    const refused = await quoteOf({ network: 'local', operations: [foreign] });
    assert.equal(refused.accepted, false);
    assert.match(refused.refusals[0].error, /source_account/);
    assert.equal(refused.fee, 100);
    const bad = await rest(rig.service.baseUrl, 'POST', path(), paymentBody('GX', 5n));
    assert.equal(bad.status, 400);
    assert.match(bad.body.error, /operations\[0\]\.destination/);
  });

  it('quote: a Stellar node that cannot simulate, or does not answer, makes parts unknown', async () => {
    rig.ledger.close();
    for (const [refused, gone] of [
      ['simulateTransaction', ['would_succeed', 'fee', 'result_xdr']],
      ['getLedgerEntries', ['would_succeed', 'fee', 'sequence_number', 'funds']],
    ] as const) {
      rig.node.setOutcome((method) => (method === refused ? { refusedWith: 503 } : null));
      const { status, body, text } = await rest(rig.service.baseUrl, 'POST', path(), invoke('echo', [{ u32: 7 }]));
      rig.node.setOutcome(null);
      rig.ledger.close();
      assert.equal(status, 200, text);
      for (const key of gone) assert.equal(key in body.data, false, `${refused}: ${key} ${text}`);
      assert.ok(
        body.metadata.logs.some(
          ({ level, message }: { level: string; message: string }) => level === 'warn' && /is unknown: /.test(message),
        ),
      );
    }
  });

  it('quote: a Stellar node that never answers is not waited for longer than five seconds', async () => {
    rig.ledger.close();
    rig.node.setOutcome(() => ({ heldForMs: 20_000 }));
    const startedAtMs = performance.now();
    const { status, body, text } = await rest(rig.service.baseUrl, 'POST', path(), paymentBody(String(bob?.address), 5_000n));
    const tookMs = performance.now() - startedAtMs;
    rig.node.setOutcome(null);
    assert.equal(status, 200, text);
    assert.ok(tookMs < 8_000, `${tookMs} ms`);
    for (const key of ['would_succeed', 'fee', 'sequence_number', 'funds']) assert.equal(key in body.data, false, text);
    assert.deepEqual([body.data.accepted, body.data.transactions_ahead], [true, 0]);
    assert.match(body.metadata.logs[0].message, /is unknown: no RPC node has answered within 5 seconds/);
  });
});
