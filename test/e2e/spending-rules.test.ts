import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Interface, parseEther, Transaction, TypedDataEncoder } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest, rpcCallers } from '../support/callers.js';
import { ruleExamples } from '../support/rule-examples.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const stranger = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
const token = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const transfer = 'transfer(address to, uint256 amount)';
const erc20 = new Interface([`function ${transfer}`]);

/** Adds a relayer with the same key, on another network that no node serves. */
async function addSister({ dir }: ServiceHome): Promise<void> {
  const file = join(dir, 'config.json');
  const { relayers, networks, ...rest } = JSON.parse(await readFile(file, 'utf8'));
  const [relayer] = relayers;
  const [network] = networks;
  const sister = { ...relayer, id: 'sister', network: 'other', policies: { ...relayer.policies, allow_transaction_signing: true } };
  const other = { ...network, network: 'other', chain_id: 137, rpc_urls: ['http://127.0.0.1:9'] };
  await writeFile(file, JSON.stringify({ ...rest, relayers: [relayer, sister], networks: [network, other] }));
}

describe('spending rules over REST', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;

  before(async () => {
    anvil = await startAnvil();
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('10').toString(16)}`]);
    await addSister(home);
    service = await startService(home);
  });
  after(async () => {
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  const path = () => `/relayers/${home.relayerId}`;
  const send = (body: object) => rest(service.baseUrl, 'POST', `${path()}/transactions`, { gas_limit: 100_000, ...body });
  const pay = (value: number, to = receiver) => send({ to, value });
  const setRules = async (rules: readonly object[] | null) => {
    const { status, text, body } = await rest(service.baseUrl, 'PATCH', path(), { policies: { rules } });
    assert.equal(status, 200, text);
    return body.data.policies.rules;
  };
  const quotedReasons = async (body: object) => {
    const { text, body: answer } = await rest(service.baseUrl, 'POST', `${path()}/transactions/quote`, body);
    assert.equal(answer.success, true, text);
    return answer.data.refusals.map(({ reason }: { reason: string }) => reason);
  };
  const usage = async () => {
    const { text, body } = await rest(service.baseUrl, 'GET', `${path()}/policies/usage`);
    assert.equal(body.success, true, text);
    return body.data.limits;
  };
  const until = (id: string, status: string) =>
    waitFor(`${id} to be ${status}`, async () => {
      const { body } = await rest(service.baseUrl, 'GET', `${path()}/transactions/${id}`);
      return body.data.status === status ? body.data : undefined;
    });

  it('the examples of the page are accepted', async () => {
    const examples = ruleExamples('evm');
    assert.ok(examples.length >= 4);
    for (const example of examples) await setRules(example);
  });

  it('what a caller sets it reads, and each mistake is named by its path', async () => {
    const rules = [
      {
        id: 'payouts',
        effect: 'allow',
        to: [token.toLowerCase()],
        functions: [transfer],
        arguments: [
          { function: transfer, name: 'to', equals: receiver.toLowerCase() },
          { function: transfer, index: 1, min: '1', max: '1000' },
        ],
        max_value: 0,
        api_keys: ['bootstrap'],
        limits: [{ asset: { token: token.toLowerCase(), argument: 'amount' }, amount: 1500, window_seconds: 3600, per: 'relayer' }],
      },
    ];
    assert.deepEqual(await setRules(rules), rules);
    const [rule] = rules;
    const wrong = { ...rule, id: 'payouts', functions: ['transfer(adress)'], limits: [{ asset: 'native', amount: 1, window_seconds: 60 }] };
    const { status, body } = await rest(service.baseUrl, 'PATCH', path(), { policies: { rules: [rule, wrong] } });
    assert.equal(status, 400);
    assert.match(body.error, /policies\.rules\[1\]\.id is payouts, which rules\[0\] has already/);
    assert.match(body.error, /policies\.rules\[1\]\.functions\[0\] has a parameter|has the type/);
  });

  it('a call is judged by its function, arguments and value', async () => {
    const call = (to: string, amount: bigint, value = 0) =>
      send({ to: token, value, data: erc20.encodeFunctionData('transfer', [to, amount]) });
    assert.deepEqual(await quotedReasons({ to: stranger, value: 1 }), ['POLICY_DENIED']);
    for (const [refused, why] of [
      [await call(stranger, 5n), 'data'],
      [await call(receiver, 1_001n), 'data'],
      [await call(receiver, 5n, 1), 'value'],
      [await pay(1), 'to'],
      [await send({ to: token, value: 0, data: '0xdeadbeef' }), 'data'],
    ] as const) {
      assert.equal(refused.status, 403, refused.text);
      assert.match(refused.body.error, new RegExp(`^${why} is allowed by no rule of the relayer`));
    }
    const dirty = erc20.encodeFunctionData('transfer', [receiver, 5n]).replace('0xa9059cbb00', '0xa9059cbbff');
    assert.match(
      (await send({ to: token, value: 0, data: dirty })).body.error,
      /^data is allowed by no rule .*, payouts, cannot read its arguments$/,
    );
    const once = () => send({ to: token, value: 0, external_id: 'once', data: erc20.encodeFunctionData('transfer', [receiver, 1_000n]) });
    assert.equal((await once()).status, 200);
    const again = await once();
    assert.deepEqual([again.status, again.headers.get('x-error-reason')], [409, 'EXTERNAL_ID_TAKEN'], 'it took the room itself');
    const over = await call(receiver, 600n);
    assert.equal(over.status, 403, over.text);
    assert.match(over.body.error, /^data needs 600 \(0x.*\); the rule payouts allows 1500 .* of which 500 are left$/);
    assert.ok(Number(over.headers.get('retry-after')) >= 60, 'it says when there may be room');
    assert.equal((await call(receiver, 500n)).status, 200);
  });

  it('many callers at once never pass a limit, and what is not spent is free again', async () => {
    await anvil.rpc('evm_setAutomine', [false]);
    const limit = { asset: 'native', amount: 1000, window_seconds: 3600, per: 'relayer' };
    await setRules([{ id: 'small', effect: 'allow', to: [receiver], limits: [limit] }]);
    const answers = await Promise.all(Array.from({ length: 60 }, () => pay(30)));
    const accepted = answers.filter(({ status }) => status === 200);
    assert.equal(accepted.length, 33, 'as many as fit');
    assert.ok(answers.every(({ status }) => status === 200 || status === 403));
    const ofLimit = { rule_id: 'small', asset: 'native', window_seconds: 3600, amount: 1000 };
    assert.deepEqual(await usage(), [{ ...ofLimit, used: 0, reserved: 990, left: 10 }]);
    const [first] = accepted;
    const id = first?.body.data.id;
    const cheap = { to: receiver, value: 40, max_fee_per_gas: 1, max_priority_fee_per_gas: 1 };
    const underpriced = await rest(service.baseUrl, 'PUT', `${path()}/transactions/${id}`, cheap);
    assert.deepEqual([underpriced.status, underpriced.headers.get('x-error-reason')], [400, 'REPLACEMENT_UNDERPRICED'], underpriced.text);
    assert.deepEqual(await usage(), [{ ...ofLimit, used: 0, reserved: 990, left: 10 }], 'what is refused reserves nothing');
    const batch = await rest(service.baseUrl, 'POST', `${path()}/transactions/batch`, {
      transactions: [7, 2, 3].map((value) => ({ to: receiver, value, gas_limit: 100_000 })),
    });
    assert.deepEqual([batch.status, batch.headers.get('x-error-reason')], [403, 'SPEND_LIMIT_EXCEEDED'], batch.text);
    assert.match(
      batch.body.error,
      /^transactions\[2\]\.value needs 12 \(native\) together with the other transactions; the rule small .* of which 10 are left$/,
    );
    const raised = await rest(service.baseUrl, 'PUT', `${path()}/transactions/${id}`, { to: receiver, value: 40, speed: 'fast' });
    assert.equal(raised.status, 200, raised.text);
    assert.equal((await pay(1)).status, 403, 'the replacement took the rest');
    const tooMuch = await rest(service.baseUrl, 'PUT', `${path()}/transactions/${id}`, { to: receiver, value: 41, speed: 'fastest' });
    assert.equal(tooMuch.status, 403, tooMuch.text);
    assert.equal((await rest(service.baseUrl, 'DELETE', `${path()}/transactions/${id}`)).status, 200);
    await anvil.rpc('evm_setIntervalMining', [1]);
    await until(id, 'canceled');
    const again = await waitFor('what was canceled to be free', async () => {
      const answer = await pay(40);
      return answer.status === 200 ? answer : undefined;
    });
    await until(again.body.data.id, 'confirmed');
    assert.equal((await pay(1)).status, 403, 'what was spent counts on');
    assert.deepEqual(await quotedReasons({ to: receiver, value: 1 }), ['SPEND_LIMIT_EXCEEDED']);
    await waitFor('all to have ended', async () => {
      const [{ reserved }] = await usage();
      return reserved === 0 ? true : undefined;
    });
    assert.deepEqual(await usage(), [{ ...ofLimit, used: 1000, reserved: 0, left: 0 }]);
    const perKey = { ...limit, per: 'api_key' };
    await setRules([{ id: 'teams', effect: 'allow', limits: [perKey] }]);
    assert.deepEqual(await usage(), [], 'no key has spent');
    const own = await pay(70);
    await until(own.body.data.id, 'confirmed');
    const [{ api_key_id: key, used, reserved, left }] = await usage();
    assert.deepEqual([key, used + reserved, left], ['bootstrap', 70, 930]);
    for (const caller of rpcCallers(service.baseUrl)) {
      const answer = await caller.call('RelayerService', 'GetSpendUsage', { relayer_id: home.relayerId });
      caller.close();
      const [counted, ...others] = answer.ok ? (answer.response.usage as { limits: Record<string, unknown>[] }).limits : [];
      assert.deepEqual([counted?.rule_id, counted?.api_key_id, counted?.left, others], ['teams', 'bootstrap', '930', []], caller.protocol);
    }
  });

  it('a replacement that wins counts alone', async () => {
    await anvil.rpc('evm_setIntervalMining', [0]);
    const limit = { asset: 'native', amount: 1000, window_seconds: 3600, per: 'relayer' };
    await setRules([{ id: 'replaced', effect: 'allow', to: [receiver], limits: [limit] }]);
    const { id } = (await pay(900)).body.data;
    await until(id, 'submitted');
    const replaced = await rest(service.baseUrl, 'PUT', `${path()}/transactions/${id}`, { to: receiver, value: 1, speed: 'fast' });
    assert.equal(replaced.status, 200, replaced.text);
    const ofLimit = { rule_id: 'replaced', asset: 'native', window_seconds: 3600, amount: 1000 };
    assert.deepEqual(await usage(), [{ ...ofLimit, used: 0, reserved: 900, left: 100 }], 'either may be mined');
    await anvil.rpc('evm_setIntervalMining', [1]);
    await until(id, 'confirmed');
    await waitFor('the rest to be free', async () => (await usage())[0]?.reserved === 0 || undefined);
    assert.deepEqual(await usage(), [{ ...ofLimit, used: 1, reserved: 0, left: 999 }]);
  });

  it('a relayer with rules signs nothing that it does not send', async () => {
    for (const [way, body] of [
      ['sign', { message: 'hello' }],
      ['sign-typed-data', { domain_separator: '11'.repeat(32), hash_struct_message: '22'.repeat(32) }],
    ] as const) {
      for (const id of [home.relayerId, 'sister']) {
        const { status, body: answer } = await rest(service.baseUrl, 'POST', `/relayers/${id}/${way}`, body);
        assert.deepEqual([status, answer.success], [403, false], `${id}: ${answer.error}`);
        assert.match(
          answer.error,
          /^the account signs no such (message|typed data) that the service does not send: relayer r1 has rules .* no policy signing$/,
        );
      }
    }
    const domain = { name: 'USD Coin', version: '2', chainId: 31_337, verifyingContract: token };
    const separator = TypedDataEncoder.hashDomain(domain);
    const word = { type: 'uint256' };
    const permit = {
      domain,
      primaryType: 'Permit',
      types: {
        Permit: [
          { name: 'owner', type: 'address' },
          { name: 'spender', type: 'address' },
          { name: 'value', ...word },
          { name: 'nonce', ...word },
          { name: 'deadline', ...word },
        ],
      },
      message: { owner: home.address, spender: stranger, value: '1000', nonce: 0, deadline: 9_999_999_999 },
    };
    const transferring = {
      domain,
      primaryType: 'TransferWithAuthorization',
      types: {
        TransferWithAuthorization: [
          { name: 'from', type: 'address' },
          { name: 'to', type: 'address' },
          { name: 'value', ...word },
          { name: 'validAfter', ...word },
          { name: 'validBefore', ...word },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      message: {
        from: home.address,
        to: stranger,
        value: '1000',
        validAfter: 0,
        validBefore: 9_999_999_999,
        nonce: `0x${'01'.repeat(32)}`,
      },
    };
    const typed = ({ domain: its, primaryType, types, message }: typeof permit | typeof transferring) => ({
      domain: its,
      primary_type: primaryType,
      types,
      message,
    });
    const unsigned = Transaction.from({
      type: 0,
      to: stranger,
      value: 1,
      nonce: 900,
      gasLimit: 21_000,
      gasPrice: 1,
      chainId: 31_337,
    }).unsignedSerialized;
    const wanted = {
      permit: ['sign-typed-data', typed(permit)],
      authorization: ['sign-typed-data', typed(transferring)],
      hashes: ['sign-typed-data', { domain_separator: separator, hash_struct_message: '22'.repeat(32) }],
      otherDomain: ['sign-typed-data', typed({ ...permit, domain: { ...domain, version: '1' } })],
      message: ['sign', { message: 'hello' }],
      transaction: ['sign-transaction', { unsigned_transaction: unsigned }],
    } as const;
    const signed = async (relayerId = home.relayerId) => {
      const names: string[] = [];
      for (const [name, [way, body]] of Object.entries(wanted)) {
        // It names the chain of the other relayer.
        if (relayerId === 'sister' && name === 'transaction') continue;
        const { status, text, headers } = await rest(service.baseUrl, 'POST', `/relayers/${relayerId}/${way}`, body);
        if (status === 200) names.push(name);
        else assert.deepEqual([status, headers.get('x-error-reason')], [403, 'POLICY_DENIED'], `${name}: ${text}`);
      }
      return names;
    };
    const setPolicies = async (policies: object) => {
      const { status, text, body } = await rest(service.baseUrl, 'PATCH', path(), { policies });
      assert.equal(status, 200, text);
      return body;
    };
    const warned = await setPolicies({ allow_transaction_signing: true });
    assert.match(JSON.stringify(warned.metadata), /has rules and no policy signing/);
    assert.deepEqual(await signed(), []);
    assert.deepEqual(await signed('sister'), []);
    const { chainId: chain_id, verifyingContract: verifying_contract, ...named } = domain;
    for (const one of [separator, { ...named, chain_id, verifying_contract: verifying_contract.toLowerCase() }]) {
      const signing = { messages: 'deny', transactions: 'deny', typed_data: { domains: [one] } };
      const set = await setPolicies({ signing });
      assert.deepEqual(set.data.policies.signing, signing);
      assert.equal(JSON.stringify(set.metadata ?? null).includes('no policy signing'), false);
      assert.deepEqual(await signed(), ['permit', 'authorization', 'hashes']);
      assert.deepEqual(await signed('sister'), ['permit', 'authorization', 'hashes']);
    }
    await setPolicies({ signing: { messages: 'allow' } });
    assert.deepEqual(await signed(), ['message']);
    await setPolicies({ signing: { typed_data: 'allow', transactions: 'allow' } });
    assert.deepEqual(await signed(), ['permit', 'authorization', 'hashes', 'otherDomain', 'transaction']);
    const unclear = await rest(service.baseUrl, 'PATCH', path(), {
      policies: { signing: { typed_data: { effect: 'allow', domains: [separator] } } },
    });
    assert.deepEqual([unclear.status, unclear.body.error], [400, 'policies.signing.typed_data must be allow, deny or domains']);
    await setPolicies({ signing: null, allow_transaction_signing: null });
    await setRules(null);
    assert.equal((await rest(service.baseUrl, 'POST', `${path()}/sign`, { message: 'hello' })).status, 200);
    assert.equal((await pay(5000)).status, 200);
  });
});
