import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Account, Asset, MuxedAccount, Operation, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { rest, rpcCallers } from '../support/callers.js';
import { paymentBody, type StellarService, startStellarService } from '../support/network-service.js';
import { ruleExamples } from '../support/rule-examples.js';
import { createWallet, type Wallet } from '../support/stellar-wallet.js';
import { waitFor } from '../support/wait-for.js';

const limit = { asset: 'native', amount: 1000, window_seconds: 86_400, per: 'relayer' };

describe('spending rules of a Stellar relayer', () => {
  let rig: StellarService;
  let [bob, carol]: readonly [Wallet?, Wallet?] = [];

  before(async () => {
    rig = await startStellarService({ node: { expectedCloseSeconds: 0 } });
    [bob, carol] = [createWallet(rig.ledger), createWallet(rig.ledger)];
  });
  after(() => rig?.stop());

  const path = () => `/relayers/${rig.home.relayerId}`;
  const setRules = async (rules: readonly object[] | null) => {
    const { status, text, body } = await rest(rig.service.baseUrl, 'PATCH', path(), { policies: { rules } });
    assert.equal(status, 200, text);
    return body.data.policies.rules;
  };
  const send = (body: object) => rest(rig.service.baseUrl, 'POST', `${path()}/transactions`, body);
  const pay = (amount: bigint, to = String(bob?.address)) => send(paymentBody(to, amount));

  it('the examples of the page are accepted, and a caller reads what it sets', async () => {
    const examples = ruleExamples('stellar');
    assert.ok(examples.length >= 1);
    for (const example of examples) await setRules(example);
    const rule = {
      ...{ id: 'all', effect: 'allow', operations: ['invoke_contract'], to: [rig.ledger.testContract], functions: ['transfer'] },
      ...{ assets: ['native', rig.ledger.testContract], max_value: 7, api_keys: ['bootstrap'], limits: [limit] },
    };
    assert.deepEqual(await setRules([rule]), [rule]);
    const ofEvm = { policies: { rules: [{ ...rule, arguments: [] }] } };
    const { status, body: refused } = await rest(rig.service.baseUrl, 'PATCH', path(), ofEvm);
    assert.deepEqual([status, refused.error], [400, 'policies.rules[0].arguments is not a known field']);
    for (const caller of rpcCallers(rig.service.baseUrl)) {
      const answer = await caller.call('RelayerService', 'GetRelayer', { relayer_id: rig.home.relayerId });
      assert.ok(answer.ok, JSON.stringify(answer));
      const { relayer } = answer.response as { relayer: { stellar: { rules: { assets: string[] }[] } } };
      assert.deepEqual(relayer.stellar.rules[0]?.assets, rule.assets);
      caller.close();
    }
  });

  it('the record of what waits for approvals shows what it does, and no other record does', async () => {
    await setRules([{ id: 'asked', effect: 'approve', to: [bob?.address], max_value: 100 }]);
    const sent = await send({ ...paymentBody(String(bob?.address), 7n), memo: { type: 'text', value: 'invoice 42' } });
    assert.equal(sent.status, 200, sent.text);
    const { operations_xdr: operations, memo_xdr: memo } = sent.body.data;
    const [shown] = operations.map((text: string) => Operation.fromXDRObject(xdr.Operation.fromXdr(text, 'base64')));
    assert.deepEqual([operations.length, shown.type, shown.destination, shown.amount], [1, 'payment', bob?.address, '0.0000007']);
    assert.match(Buffer.from(memo, 'base64').toString('latin1'), /invoice 42/);
    await setRules(null);
    const free = (await pay(1n)).body.data;
    assert.deepEqual([free.operations_xdr, free.memo_xdr, free.envelope_xdr], [undefined, undefined, undefined]);
    assert.equal((await rest(rig.service.baseUrl, 'DELETE', `${path()}/transactions/${sent.body.data.id}`)).status, 200);
  });

  it('each operation of a transaction must be allowed, in every form in which a body can pay', async () => {
    await setRules([{ id: 'bob', effect: 'allow', to: [bob?.address], max_value: 100, limits: [limit] }]);
    const muxed = new MuxedAccount(new Account(String(bob?.address), '0'), '7').accountId();
    const payment = (destination: string, amount: string) => ({ type: 'payment', destination, amount, asset: { type: 'native' } });
    const path = { type: 'path_payment_strict_receive', send_asset: { type: 'native' }, dest_asset: { type: 'native' }, path: [] };
    const unsigned = (account: string) =>
      new TransactionBuilder(new Account(account, '1'), { fee: '100', networkPassphrase: rig.ledger.passphrase })
        .addOperation(Operation.payment({ destination: String(carol?.address), asset: Asset.native(), amount: '0.000001' }))
        .setTimeout(600)
        .build();
    const foreign = unsigned(String(carol?.address));
    foreign.sign(carol?.keys ?? assert.fail());
    const rows: readonly (readonly [string, object, RegExp])[] = [
      [
        'another receiver',
        paymentBody(String(carol?.address), 1n),
        /^operations\[0\] is allowed by no rule .*bob, is not for its receiver$/,
      ],
      ['too much', paymentBody(muxed, 101n), /^operations\[0\] .* is not for its amount$/],
      [
        'a second operation',
        { network: 'local', operations: [payment(muxed, '1'), payment(String(carol?.address), '1')] },
        /^operations\[1\] .* is not for its receiver$/,
      ],
      [
        'a path payment, of which offers get more than the receiver',
        { network: 'local', operations: [{ ...path, destination: bob?.address, send_max: '100', dest_amount: '1' }] },
        /^operations\[0\] .* cannot read its receiver$/,
      ],
      [
        'an offer',
        {
          network: 'local',
          operations: [{ type: 'manage_sell_offer', selling: { type: 'native' }, amount: '1', price: '1' }].map((one) => ({
            ...one,
            buying: { type: 'credit4', code: 'USD', issuer: bob?.address },
          })),
        },
        /^operations\[0\] .* cannot read its receiver$/,
      ],
      ['an envelope', { network: 'local', transaction_xdr: unsigned(rig.home.address).toXDR() }, /^operations\[0\] .* receiver$/],
      ['a fee bump', { network: 'local', transaction_xdr: foreign.toXDR(), fee_bump: true }, /^transaction_xdr is allowed by no rule/],
    ];
    for (const [name, body, message] of rows) {
      const { status, body: answer, text } = await send(body);
      assert.equal(status, 403, `${name}: ${text}`);
      assert.match(answer.error, message, name);
      const quote = await rest(rig.service.baseUrl, 'POST', `/relayers/${rig.home.relayerId}/transactions/quote`, body);
      assert.deepEqual(
        quote.body.data?.refusals.map(({ reason }: { reason: string }) => reason),
        ['POLICY_DENIED'],
        `${name}: ${quote.text}`,
      );
    }
    const both = await send({ network: 'local', operations: [payment(muxed, '1'), payment(String(bob?.address), '2')] });
    assert.equal(both.status, 200, both.text);
    const signed = await rest(rig.service.baseUrl, 'POST', `/relayers/${rig.home.relayerId}/sign-transaction`, {
      unsigned_xdr: unsigned(rig.home.address).toXDR(),
    });
    assert.deepEqual([signed.status, signed.headers.get('x-error-reason')], [403, 'POLICY_DENIED'], signed.text);
    assert.equal((await rig.untilWithBlocks(both.body.data.id, 'confirmed')).status, 'confirmed');
  });

  it('many callers at once never pass a limit, the ledger pays nearly all of it, and what is not spent is free again', async () => {
    await setRules([{ id: 'small', effect: 'allow', limits: [limit] }]);
    const paidBefore = bob?.balance() ?? 0n;
    const answers = await Promise.all(Array.from({ length: 60 }, () => pay(30n)));
    const accepted = answers.filter(({ status }) => status === 200);
    assert.equal(accepted.length, 33, 'as many as fit');
    const refused = answers.find(({ status }) => status === 403);
    assert.match(
      refused?.body.error,
      /^operations\[0\] needs 30 \(native\); the rule small allows 1000 in 86400 s, of which \d+ are left$/,
    );
    const last = accepted.at(-1)?.body.data.id;
    assert.equal((await rest(rig.service.baseUrl, 'DELETE', `${path()}/transactions/${last}`)).status, 200);
    const again = await waitFor('what was canceled to be free', async () => {
      rig.ledger.close();
      const answer = await pay(30n);
      return answer.status === 200 ? answer.body.data.id : undefined;
    });
    for (const id of [...accepted.slice(0, -1).map(({ body }) => body.data.id), again]) await rig.untilWithBlocks(id, 'confirmed');
    const paid = (bob?.balance() ?? 0n) - paidBefore;
    assert.ok(paid <= 1000n && paid >= 950n, `${paid} of 1000 were paid`);
    assert.equal((await pay(30n)).status, 403, 'what was spent counts on');
    const usage = await rest(rig.service.baseUrl, 'GET', `${path()}/policies/usage`);
    const { asset, amount, used, reserved, left } = usage.body.data.limits[0];
    assert.deepEqual([asset, amount, used + reserved, left], ['native', 1000, 990, 10], usage.text);
    const dollars = `USD:${bob?.address}`;
    await setRules([{ id: 'dollars', effect: 'allow', limits: [{ ...limit, asset: dollars }] }]);
    const others = await rest(rig.service.baseUrl, 'GET', `${path()}/policies/usage`);
    assert.deepEqual(others.body.data.limits[0].asset, { token: dollars }, others.text);
  });
});
