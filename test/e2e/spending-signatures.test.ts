import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Interface, parseEther, verifyTypedData } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';

const spender = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const token = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const permit = 'Permit(address owner, address spender, uint256 value, uint256 nonce, uint256 deadline)';
const transfer = 'transfer(address to, uint256 value)';
const erc20 = new Interface([`function ${transfer}`]);
const windowSeconds = 3_600;

const rule = {
  id: 'tokens',
  effect: 'allow',
  to: [token],
  functions: [transfer],
  typed_data: [permit],
  deadline_field: 'deadline',
  max_value: 0,
  arguments: [{ function: permit, name: 'spender', equals: spender.toLowerCase() }],
  limits: [{ asset: { token, argument: 'value' }, amount: 1_000, window_seconds: windowSeconds, per: 'relayer' }],
};

/** Adds a relayer with the same key, on another network that no node serves. */
async function addSister({ dir }: ServiceHome): Promise<void> {
  const file = join(dir, 'config.json');
  const { relayers, networks, ...others } = JSON.parse(await readFile(file, 'utf8'));
  const [relayer] = relayers;
  const [network] = networks;
  const other = { ...network, network: 'other', chain_id: 137, rpc_urls: ['http://127.0.0.1:9'] };
  await writeFile(
    file,
    JSON.stringify({ ...others, relayers: [relayer, { ...relayer, id: 'sister', network: 'other' }], networks: [network, other] }),
  );
}

describe('spending rules about signatures', () => {
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

  const path = (id = home.relayerId) => `/relayers/${id}`;
  const soon = () => Math.floor(Date.now() / 1_000) + 600;
  const dataOf = (value: number, changes: object = {}, domain: object = {}) => ({
    domain: { name: 'USD Coin', version: '2', chainId: 31_337, verifyingContract: token, ...domain },
    types: {
      Permit: [
        { name: 'owner', type: 'address' },
        { name: 'spender', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'nonce', type: 'uint256' },
        { name: 'deadline', type: 'uint256' },
      ],
    },
    primary_type: 'Permit',
    message: { owner: home.address, spender, value, nonce: 0, deadline: soon(), ...changes },
  });
  const sign = (data: object, id?: string) => rest(service.baseUrl, 'POST', `${path(id)}/sign-typed-data`, data);
  const pay = (value: number) =>
    rest(service.baseUrl, 'POST', `${path()}/transactions`, {
      ...{ to: token, value: 0, gas_limit: 100_000, data: erc20.encodeFunctionData('transfer', [spender, value]) },
    });
  const setRules = async (rules: readonly object[] | null) => {
    const { status, text, body } = await rest(service.baseUrl, 'PATCH', path(), { policies: { rules } });
    assert.equal(status, 200, text);
    return body.data.policies.rules;
  };
  const usage = async () => {
    const { body } = await rest(service.baseUrl, 'GET', `${path()}/policies/usage`);
    return body.data.limits[0];
  };

  it('permits and transfers share one limit, and what was signed counts after a kill', async () => {
    const [stored] = await setRules([rule]);
    assert.deepEqual([stored.typed_data, stored.deadline_field], [[permit], 'deadline']);
    const data = dataOf(600);
    const signed = await sign(data);
    assert.equal(signed.status, 200, signed.text);
    const { domain, types, message } = data;
    assert.equal(verifyTypedData(domain, types, message, `0x${signed.body.data.sig}`), home.address);
    assert.equal((await pay(300)).status, 200);
    await service.kill();
    service = await startService(home);
    const refused = await sign(dataOf(200));
    assert.deepEqual([refused.status, refused.headers.get('x-error-reason')], [403, 'SPEND_LIMIT_EXCEEDED'], refused.text);
    assert.match(refused.body.error, /message\.value needs 200 .*; the rule tokens allows 1000 in 3600 s, of which 100 are left/);
    assert.equal((await pay(200)).headers.get('x-error-reason'), 'SPEND_LIMIT_EXCEEDED');
    const left = await usage();
    assert.equal(Number(left.left), 100);
    assert.equal(Number(left.used) + Number(left.reserved), 900);
    assert.ok(Number(left.reserved) >= 600, 'until its deadline, a signature may still move it');
  });

  it('of many at once no more are signed than the limit has room for', async () => {
    await setRules([{ ...rule, id: 'many' }]);
    const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => (index % 2 === 0 ? sign(dataOf(30)) : pay(30))));
    const accepted = answers.filter(({ status }) => status === 200).length;
    assert.equal(accepted, 33, 'of 1,000');
    for (const { status, headers } of answers)
      if (status !== 200) assert.deepEqual([status, headers.get('x-error-reason')], [403, 'SPEND_LIMIT_EXCEEDED']);
    assert.equal(Number((await usage()).left), 10);
  });

  it('what no rule is for is not signed, and the deadline must be within the window', async () => {
    await setRules([{ ...rule, id: 'fresh' }]);
    const far = await sign(dataOf(1, { deadline: soon() + windowSeconds }));
    assert.deepEqual([far.status, far.headers.get('x-error-reason')], [403, 'POLICY_DENIED'], far.text);
    assert.match(far.body.error, /^message\.deadline must be at most 3600 s ahead/);
    for (const [name, data, id] of [
      ['no deadline', dataOf(1, { deadline: 0 })],
      ['a deadline that has passed', dataOf(1, { deadline: soon() - 660 })],
      ['for ever', dataOf(1, { deadline: (2n ** 256n - 1n).toString() })],
      ['another spender', dataOf(1, { spender: home.address })],
      ['another chain', dataOf(1, {}, { chainId: 137 })],
      ['another token', dataOf(1, {}, { verifyingContract: spender })],
      ['its hashes', { domain_separator: '11'.repeat(32), hash_struct_message: '22'.repeat(32) }],
      ['by a relayer of another network', dataOf(1), 'sister'],
    ] as const) {
      const answer = await sign(data, id);
      assert.deepEqual([answer.status, answer.headers.get('x-error-reason')], [403, 'POLICY_DENIED'], `${name}: ${answer.text}`);
    }
    assert.equal(Number((await usage()).left), 1_000, 'what is refused counts nothing');
    const asked = async (data: object) => {
      const { body, text } = await rest(service.baseUrl, 'POST', `${path()}/policies/check`, { sign_typed_data: data });
      assert.equal(body.success, true, text);
      return body.data;
    };
    const allowed = await asked(dataOf(900));
    assert.deepEqual([allowed.verdict, allowed.rule_id, Number(allowed.limits[0].left)], ['allow', 'fresh', 1_000]);
    assert.equal((await asked(dataOf(1_001))).verdict, 'deny');
    assert.equal((await asked(dataOf(1, { spender: home.address }))).verdict, 'deny');
    assert.equal(Number((await usage()).left), 1_000, 'asking counts nothing');
  });

  it('a rule that denies typed data holds beside a policy that signs all, also for hashes', async () => {
    const { status } = await rest(service.baseUrl, 'PATCH', path(), { policies: { signing: { typed_data: 'allow' } } });
    assert.equal(status, 200);
    await setRules([
      { id: 'never', effect: 'deny', to: [token], typed_data: [permit] },
      { id: 'rest', effect: 'allow' },
    ]);
    assert.equal((await sign(dataOf(1))).status, 403);
    assert.equal((await sign({ domain_separator: '11'.repeat(32), hash_struct_message: '22'.repeat(32) })).status, 403);
    const bySister = await sign(dataOf(1), 'sister');
    assert.deepEqual([bySister.status, bySister.headers.get('x-error-reason')], [403, 'POLICY_DENIED'], 'which has the same account');
    assert.equal((await sign(dataOf(1, {}, { verifyingContract: spender }), 'sister')).status, 200);
    assert.equal((await pay(1)).status, 200, 'it is for no transaction');
    const other = await sign(dataOf(1, {}, { verifyingContract: spender }));
    assert.equal(other.status, 200, 'the policy signing decides about what no rule is for');
  });
});
