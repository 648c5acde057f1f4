import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { address } from '@solana/kit';
import { parseEther, Transaction } from 'ethers';
import fc from 'fast-check';
import { signerOf } from '../../src/sandbox/solana/build-transaction.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest, rpcCallers } from '../support/callers.js';
import {
  type SolanaService,
  type StellarService,
  startSolanaService,
  startStellarService,
  paymentBody as stellarPayment,
} from '../support/network-service.js';
import { runs } from '../support/runs.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { paymentBody as solanaPayment } from '../support/solana-body.js';
import { createWallet } from '../support/stellar-wallet.js';

/** A relayer on a network, and how it pays; amounts are in `unit`. */
interface Payer {
  readonly service: RunningService;
  readonly relayerId: string;
  readonly receivers: readonly [string, string];
  readonly unit: number;
  bodyOf(to: string, amount: number): object;
}

const setPolicies = async ({ service, relayerId }: Pick<Payer, 'service' | 'relayerId'>, policies: object) => {
  const { status, text } = await rest(service.baseUrl, 'PATCH', `/relayers/${relayerId}`, { policies });
  assert.equal(status, 200, text);
};

const generated = fc.record({
  rules: fc.array(
    fc.record({
      effect: fc.constantFrom('allow', 'deny', 'approve', 'approve'),
      to: fc.constantFrom(null, [0], [1], [0, 1]),
      max: fc.constantFrom(null, 3, 6, 9),
      limit: fc.constantFrom(null, { amount: 12, per: 'relayer' }, { amount: 8, per: 'api_key' }, { amount: 4, per: 'relayer' }),
      keys: fc.constantFrom(null, null, ['bootstrap'], ['other']),
      approvals: fc.integer({ min: 1, max: 3 }),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  steps: fc.array(
    fc.record({
      isOther: fc.boolean(),
      receiver: fc.constantFrom(0, 1),
      amount: fc.integer({ min: 1, max: 10 }),
      replaces: fc.boolean(),
    }),
    { minLength: 4, maxLength: 10 },
  ),
});
type Generated = typeof generated extends fc.Arbitrary<infer T> ? T : never;

/** A transaction that waits for approvals gets content that needs none. */
const approvedThenAllowed: Generated = {
  rules: [
    { effect: 'allow', to: null, max: 3, limit: null, keys: null, approvals: 1 },
    { effect: 'approve', to: null, max: null, limit: { amount: 12, per: 'relayer' }, keys: null, approvals: 2 },
  ],
  steps: [
    { isOther: false, receiver: 0, amount: 8, replaces: false },
    { isOther: true, receiver: 1, amount: 10, replaces: true },
    { isOther: false, receiver: 0, amount: 3, replaces: true },
  ],
};

function rulesOf({ rules }: Generated, run: number, { receivers, unit }: Payer, otherKey: string): readonly object[] {
  return rules.map(({ effect, to, max, limit, keys, approvals }, index) => ({
    id: `r${run}-${index}`,
    effect,
    ...(to === null ? {} : { to: to.map((at) => receivers[at]) }),
    ...(max === null || effect === 'deny' ? {} : { max_value: max * unit }),
    ...(limit === null || effect === 'deny'
      ? {}
      : { limits: [{ asset: 'native', amount: limit.amount * unit, window_seconds: 86_400, per: limit.per }] }),
    ...(keys === null ? {} : { api_keys: keys.map((key) => (key === 'other' ? otherKey : key)) }),
    ...(effect === 'approve' ? { approvals } : {}),
  }));
}

/** Sends and replaces by generated rules, and compares each answer with what the check has said before. */
async function compareWithCalls(payer: Payer, count: number): Promise<ReadonlyMap<string, number>> {
  const { service, relayerId, receivers, unit, bodyOf } = payer;
  const path = `/relayers/${relayerId}`;
  const created = await rest(service.baseUrl, 'POST', '/api-keys', { name: 'other', scopes: ['transactions:read', 'transactions:write'] });
  assert.equal(created.status, 201, created.text);
  const other = { authorization: `Bearer ${created.body.data.key}` };
  const seen = new Map<string, number>();
  let run = 0;
  const usage = async () => (await rest(service.baseUrl, 'GET', `${path}/policies/usage`)).body.data.limits;
  await fc.assert(
    fc.asyncProperty(generated, async (given) => {
      run += 1;
      await setPolicies(payer, { rules: rulesOf(given, run, payer, created.body.data.id) });
      let waiting: string | null = null;
      for (const { isOther, receiver, amount, replaces } of given.steps) {
        const headers = isOther ? other : {};
        const body = bodyOf(receivers[receiver] ?? '', amount * unit);
        const replaced: string | null = replaces ? waiting : null;
        const call: object = replaced === null ? { send: body } : { replace: { transaction_id: replaced, ...body } };
        const checked = await rest(service.baseUrl, 'POST', `${path}/policies/check`, call, headers);
        assert.equal(checked.status, 200, checked.text);
        const check = checked.body.data;
        const [verb, target] = replaced === null ? ['POST', ''] : ['PUT', `/${replaced}`];
        const answer = await rest(service.baseUrl, verb, `${path}/transactions${target}`, body, headers);
        const said: string = `${JSON.stringify(call)}: ${checked.text} but ${answer.text}`;
        if (answer.status !== 200) {
          assert.equal(check.verdict, 'deny', said);
          const [{ reason, error }] = check.refusals;
          assert.deepEqual([reason, error], [answer.headers.get('x-error-reason'), answer.body.error], said);
          if (reason === 'SPEND_LIMIT_EXCEEDED')
            assert.ok(
              check.limits.some(({ left }: { left: number }) => left < amount * unit),
              said,
            );
        } else {
          const { id, approval } = answer.body.data;
          assert.equal(check.verdict, approval ? 'approve' : 'allow', said);
          assert.deepEqual(check.refusals, []);
          if (approval) assert.deepEqual([check.approval.rule_id, check.approval.approvals], [approval.rule_id, approval.required], said);
          if (approval) waiting = id;
          else if (replaced !== null) waiting = null;
          const left = await usage();
          for (const { left: before, ...limit } of replaced === null ? check.limits : []) {
            const now = left.find(
              (one: { rule_id: string; api_key_id?: string }) => one.rule_id === limit.rule_id && one.api_key_id === limit.api_key_id,
            );
            assert.equal(now?.left, before - amount * unit, said);
          }
        }
        const kind = `${replaced === null ? 'send' : 'replace'} ${check.verdict}`;
        seen.set(kind, (seen.get(kind) ?? 0) + 1);
      }
    }),
    { numRuns: runs(count), examples: [[approvedThenAllowed]] },
  );
  return seen;
}

const kinds = ['send', 'replace'].flatMap((call) => ['allow', 'deny', 'approve'].map((verdict) => `${call} ${verdict}`)).sort();

describe('the check of policies on an EVM network', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;

  before(async () => {
    anvil = await startAnvil();
    home = await createServiceHome({ rpcUrl: anvil.url, policies: { allow_transaction_signing: true } });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('10').toString(16)}`]);
    // Nothing ends, so nothing that was reserved is released meanwhile.
    await anvil.rpc('evm_setAutomine', [false]);
    service = await startService(home);
  });
  after(async () => {
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  const receivers = [`0x${'52'.repeat(20)}`, `0x${'53'.repeat(20)}`] as const;
  const path = () => `/relayers/${home.relayerId}`;
  const check = (call: object) => rest(service.baseUrl, 'POST', `${path()}/policies/check`, call);
  const bodyOf = (to: string, value: number) => ({ to, value, gas_limit: 21_000 });

  it('says what each generated send and replacement is answered, and what the limits have left', async () => {
    const payer = { service, relayerId: home.relayerId, receivers, unit: 1, bodyOf };
    assert.deepEqual([...(await compareWithCalls(payer, 40)).keys()].sort(), kinds);
  });

  it('refuses a body as the call does, naming its fields behind the call, and needs a call', async () => {
    await setPolicies({ service, relayerId: home.relayerId }, { rules: null });
    for (const body of [
      { to: 'x', value: 1 },
      { to: receivers[0], value: -1, labels: [{ key: '', value: 'v' }] },
      { to: receivers[0], gas: 1 },
    ]) {
      const [asked, called] = [await check({ send: body }), await rest(service.baseUrl, 'POST', `${path()}/transactions`, body)];
      assert.deepEqual([asked.status, called.status], [400, 400], asked.text);
      assert.equal(asked.headers.get('x-error-reason'), called.headers.get('x-error-reason'));
      assert.equal(asked.body.error.replaceAll('send.', ''), called.body.error);
    }
    for (const [call, error] of [
      [{}, /^call is required: one of send, replace, sign_data, sign_typed_data, sign_transaction$/],
      [{ replace: bodyOf(receivers[0], 1) }, /^replace\.transaction_id is required$/],
      [{ sign_data: {} }, /^sign_data\.message is required without message_hex$/],
      [{ sign_typed_data: { domain_separator: 'x' } }, /sign_typed_data\.domain_separator must/],
      [
        { sign_transaction: { unsigned_transaction: '0xdead' } },
        /^sign_transaction\.unsigned_transaction is not a serialized transaction$/,
      ],
      [{ send: bodyOf(receivers[0], 1), sign_data: { message: 'm' } }, /conflicts with another field/],
    ] as const) {
      const { status, body } = await check(call);
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(body.error, error);
    }
    const missing = await check({ replace: { transaction_id: 'none', ...bodyOf(receivers[0], 1) } });
    assert.deepEqual([missing.status, missing.headers.get('x-error-reason')], [404, 'TRANSACTION_NOT_FOUND']);
  });

  it('lists what other policies refuse, and what the state of the relayer refuses', async () => {
    const policies = { rules: null, whitelist_receivers: [receivers[0]] };
    await setPolicies({ service, relayerId: home.relayerId }, policies);
    await rest(service.baseUrl, 'PATCH', path(), { paused: true });
    const { body } = await check({ send: bodyOf(receivers[1], 1) });
    assert.equal(body.data.verdict, 'deny');
    assert.deepEqual(
      body.data.refusals.map(({ reason }: { reason: string }) => reason),
      ['RELAYER_PAUSED', 'RECEIVER_NOT_ALLOWED'],
    );
    assert.equal('rule_id' in body.data, false, 'no rule decides');
    await rest(service.baseUrl, 'PATCH', path(), { paused: false });
    await setPolicies({ service, relayerId: home.relayerId }, { whitelist_receivers: null });
  });

  it('says what each signature is answered', async () => {
    const hash = '11'.repeat(32);
    const typed = (separator: string) => ({ domain_separator: separator, hash_struct_message: hash });
    const fields = { to: receivers[0], chainId: 31337, nonce: 900, gasLimit: 21_000, gasPrice: 1_000_000_000, type: 0 };
    const raw = Transaction.from(fields).unsignedSerialized;
    const calls = [
      ['sign_data', 'sign', { message: 'hello' }],
      ['sign_typed_data', 'sign-typed-data', typed(hash)],
      ['sign_typed_data', 'sign-typed-data', typed('22'.repeat(32))],
      ['sign_transaction', 'sign-transaction', { unsigned_transaction: raw }],
    ] as const;
    const seen = new Set<string>();
    for (const policies of [
      { rules: null, signing: null },
      { rules: [{ id: 'all', effect: 'allow' }], signing: null },
      { signing: { messages: 'allow', typed_data: { domains: [`0x${hash}`] } } },
      { signing: { transactions: 'allow' } },
      { signing: { transactions: 'allow' }, allow_transaction_signing: false },
    ]) {
      await setPolicies({ service, relayerId: home.relayerId }, policies);
      for (const [name, suffix, body] of calls) {
        const asked = await check({ [name]: body });
        const called = await rest(service.baseUrl, 'POST', `${path()}/${suffix}`, body);
        const said = `${name} ${JSON.stringify(policies)}: ${asked.text} but ${called.text}`;
        assert.equal(asked.status, 200, said);
        assert.equal(asked.body.data.verdict, called.status === 200 ? 'allow' : 'deny', said);
        assert.equal(asked.body.data.refusals[0]?.error, called.status === 200 ? undefined : called.body.error, said);
        seen.add(`${name} ${asked.body.data.verdict}`);
      }
    }
    assert.equal(seen.size, 6, [...seen].join(', '));
  });

  it('reserves and stores nothing, over REST and RPC, and a quote names the approvals that are needed', async () => {
    const limit = { asset: 'native', amount: 100, window_seconds: 3_600, per: 'relayer' };
    const rule = { id: 'asked', effect: 'approve', approvals: 2, approval_seconds: 600, max_value: 90, limits: [limit] };
    await setPolicies({ service, relayerId: home.relayerId }, { rules: [rule], signing: null });
    const before = await rest(service.baseUrl, 'GET', `${path()}/transactions`);
    const send = bodyOf(receivers[0], 60);
    const approval = { rule_id: 'asked', approvals: 2, approval_seconds: 600 };
    const left = { rule_id: 'asked', asset: 'native', window_seconds: 3_600, amount: 100, used: 0, reserved: 0, left: 100 };
    for (let count = 0; count < 3; count += 1) {
      const { body } = await check({ send });
      assert.deepEqual(body.data, { verdict: 'approve', rule_id: 'asked', refusals: [], approval, limits: [left] });
    }
    for (const caller of rpcCallers(service.baseUrl)) {
      const content = { evm: { to: receivers[0], value: '60', gas_limit: '21000' } };
      const answer = await caller.call('TransactionService', 'CheckPolicies', { relayer_id: home.relayerId, send: content });
      assert.ok(answer.ok, JSON.stringify(answer));
      const said = answer.response.check as { verdict: string; rule_id: string; limits: { left: string }[] };
      assert.deepEqual([said.verdict, said.rule_id, said.limits[0]?.left], ['POLICY_VERDICT_APPROVE', 'asked', '100'], caller.protocol);
      const wrong = { relayer_id: home.relayerId, send: { stellar: { operations: [] } } };
      const refused = await caller.call('TransactionService', 'CheckPolicies', wrong);
      assert.ok(!refused.ok && /send\.transaction has the stellar shape/.test(refused.message), JSON.stringify(refused));
      const empty = await caller.call('TransactionService', 'CheckPolicies', { relayer_id: home.relayerId, sign_transaction: {} });
      assert.ok(!empty.ok && /sign_transaction\.transaction is required/.test(empty.message), JSON.stringify(empty));
      caller.close();
    }
    const quote = await rest(service.baseUrl, 'POST', `${path()}/transactions/quote`, send);
    assert.deepEqual([quote.body.data.accepted, quote.body.data.approval], [true, approval], quote.text);
    assert.deepEqual((await rest(service.baseUrl, 'GET', `${path()}/transactions`)).body.pagination, before.body.pagination);
    assert.deepEqual((await rest(service.baseUrl, 'GET', `${path()}/policies/usage`)).body.data.limits, [left]);
  });

  it('answers while no node is reachable', async (test) => {
    const lonely = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', policies: { rules: [{ id: 'all', effect: 'allow' }] } });
    const alone = await startService(lonely);
    test.after(async () => {
      await alone.stop();
      await lonely.remove();
    });
    const call = { send: bodyOf(receivers[0], 1) };
    const { body } = await rest(alone.baseUrl, 'POST', `/relayers/${lonely.relayerId}/policies/check`, call);
    assert.deepEqual([body.data.verdict, body.data.rule_id], ['allow', 'all']);
  });
});

describe('the check of policies on Stellar', () => {
  let rig: StellarService;
  before(async () => {
    rig = await startStellarService({ node: { expectedCloseSeconds: 0 } });
  });
  after(() => rig?.stop());

  it('says what each generated send and replacement is answered, and what the limits have left', async () => {
    const receivers = [createWallet(rig.ledger).address, createWallet(rig.ledger).address] as const;
    const bodyOf = (to: string, amount: number) => stellarPayment(to, BigInt(amount));
    const payer = { service: rig.service, relayerId: rig.home.relayerId, receivers, unit: 1, bodyOf };
    assert.deepEqual([...(await compareWithCalls(payer, 30)).keys()].sort(), kinds);
  });
});

describe('the check of policies on Solana', () => {
  let rig: SolanaService;
  before(async () => {
    rig = await startSolanaService();
  });
  after(() => rig?.stop());

  it('says what each generated send and replacement is answered, and what the limits have left', async () => {
    const [bob, carol] = await Promise.all([signerOf(2), signerOf(3)]);
    for (const { address: one } of [bob, carol]) await rig.solana.faucet(one, 1_000_000_000n);
    rig.solana.chain.advance(2);
    const bodyOf = (to: string, amount: number) => solanaPayment(address(rig.home.address), address(to), BigInt(amount));
    const payer = {
      service: rig.service,
      relayerId: rig.home.relayerId,
      receivers: [bob.address, carol.address] as const,
      unit: 1_000,
      bodyOf,
    };
    assert.deepEqual([...(await compareWithCalls(payer, 30)).keys()].sort(), kinds);
  });
});
