import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { signerOf } from '../../src/sandbox/solana/build-transaction.js';
import { rest, rpcCallers } from '../support/callers.js';
import { deferred } from '../support/deferred.js';
import { type SolanaService, startSolanaService } from '../support/network-service.js';
import { paymentBody } from '../support/solana-body.js';
import { waitFor } from '../support/wait-for.js';

const sol = 1_000_000_000n;
const bob = await signerOf(2);

describe('quotes on Solana', () => {
  let s: SolanaService;
  before(async () => {
    s = await startSolanaService({ policies: { disallowed_accounts: ['37R4ikPi3VK4VZxjgSZTtmiEadgSQ6FBBaJMH1iZLRyY'] } });
    await s.solana.faucet(bob.address, 100n * sol);
    s.solana.chain.advance(2);
  });
  after(() => s?.stop());

  const path = () => `/relayers/${s.home.relayerId}/transactions/quote`;
  const payment = (lamports: bigint, to: string = bob.address) => paymentBody(s.home.address, to, lamports);
  async function quoteOf(body: object) {
    const answer = await rest(s.service.baseUrl, 'POST', path(), body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.data;
  }

  it('quote: a payment on Solana, in REST and over gRPC; nothing is sent', async () => {
    const quote = await quoteOf(payment(sol));
    assert.deepEqual([quote.accepted, quote.would_succeed, quote.transactions_ahead], [true, true, 0], JSON.stringify(quote));
    assert.ok(quote.fee >= 5_000);
    assert.equal(quote.compute_units, 150);
    assert.deepEqual(quote.logs, [
      'Program 11111111111111111111111111111111 invoke [1]',
      'Program 11111111111111111111111111111111 success',
    ]);
    assert.deepEqual([quote.funds.sufficient, quote.funds.cost], [true, String(Number(sol) + quote.fee)]);
    for (const caller of rpcCallers(s.service.baseUrl)) {
      const answer = await caller.call('TransactionService', 'QuoteTransaction', { relayer_id: s.home.relayerId, solana: payment(sol) });
      assert.ok(answer.ok, `${caller.protocol} ${JSON.stringify(answer)}`);
      const found = answer.response.quote as { would_succeed: boolean; solana: { compute_units: string; logs: string[] } };
      assert.deepEqual([found.would_succeed, found.solana.compute_units, found.solana.logs.length], [true, '150', 2]);
      caller.close();
    }
    assert.equal((await s.client.list()).length, 0);
    assert.equal(s.solana.chain.pool.waiting().length, 0);
  });

  it('quote: a quote makes no later send of the same content a duplicate on Solana', async () => {
    const body = payment(sol + 1n);
    await quoteOf(body);
    const sent = await s.client.send(body);
    assert.equal(sent.status, 200, sent.text);
    await waitFor('it to be final', async () => {
      s.solana.chain.advance();
      return (await s.client.get(String(sent.record?.id))).status === 'confirmed' || undefined;
    });
  });

  it('quote: a failing program, an uncovered balance and a refused account on Solana', async () => {
    const failing = {
      instructions: [
        {
          program_id: '11111111111111111111111111111111',
          accounts: [
            { pubkey: bob.address, is_signer: false, is_writable: true },
            { pubkey: s.home.address, is_signer: true, is_writable: true },
          ],
          data: Buffer.concat([Buffer.from([2, 0, 0, 0]), Buffer.alloc(8, 1)]).toString('base64'),
        },
      ],
    };
    const failed = await quoteOf(failing);
    assert.equal(failed.would_succeed, false, JSON.stringify(failed));
    assert.equal(failed.failure.reason, 'wouldRevert');
    assert.match(failed.failure.revert_reason, /instruction 0 failed with/);
    assert.ok(failed.logs.length > 0);
    const dear = await quoteOf(payment(2_000n * sol));
    assert.equal(dear.funds.sufficient, false);
    assert.equal(dear.failure.reason, 'insufficientFunds');
    const refused = await quoteOf(payment(1n * sol, '37R4ikPi3VK4VZxjgSZTtmiEadgSQ6FBBaJMH1iZLRyY'));
    assert.deepEqual([refused.accepted, refused.refusals[0].reason], [false, 'RECEIVER_NOT_ALLOWED']);
    assert.equal(refused.would_succeed, true);
    const bad = await rest(s.service.baseUrl, 'POST', path(), { instructions: [] });
    assert.equal(bad.status, 400);
  });

  it('quote: a Solana node that cannot simulate makes parts unknown', async () => {
    s.solana.node.fail('simulateTransaction', 'request_lost', 1_000);
    const { status, body, text } = await rest(s.service.baseUrl, 'POST', path(), payment(3n * sol));
    s.solana.node.heal();
    assert.equal(status, 200, text);
    for (const key of ['would_succeed', 'fee', 'compute_units']) assert.equal(key in body.data, false, text);
    assert.ok(
      body.metadata.logs.some(({ message }: { message: string }) => /^the simulation is unknown: /.test(message)),
      text,
    );
    assert.equal(body.data.accepted, true);
  });

  it('quote: a Solana node that never answers is not waited for longer than five seconds', async () => {
    s.solana.chain.advance();
    const held = deferred();
    s.solana.node.fail('*', { heldUntil: held.promise }, 1_000);
    const startedAtMs = performance.now();
    const { status, body, text } = await rest(s.service.baseUrl, 'POST', path(), payment(4n * sol));
    const tookMs = performance.now() - startedAtMs;
    s.solana.node.heal();
    held.resolve();
    assert.equal(status, 200, text);
    assert.ok(tookMs < 8_000, `${tookMs} ms`);
    for (const key of ['would_succeed', 'fee', 'compute_units', 'funds']) assert.equal(key in body.data, false, text);
    assert.deepEqual([body.data.accepted, body.data.transactions_ahead], [true, 0]);
    assert.match(body.metadata.logs[0].message, /is unknown: no RPC node has answered within 5 seconds/);
  });
});
