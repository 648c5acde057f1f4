import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { address } from '@solana/kit';
import { signerOf } from '../../src/sandbox/solana/build-transaction.js';
import { newest } from '../../src/sandbox/solana/chain.js';
import { transferOf, unitPriceOf } from '../../src/sandbox/solana/instructions.js';
import { rest } from '../support/callers.js';
import { type SolanaService, startSolanaService } from '../support/network-service.js';
import { ruleExamples } from '../support/rule-examples.js';
import { type RunningService, type ServiceHome, startService } from '../support/service.js';
import { paymentBody, transactionBody } from '../support/solana-body.js';

const [bob, carol] = await Promise.all([signerOf(2), signerOf(3)]);
const tokens = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const mint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const limit = { asset: 'native', amount: 34_000_000, window_seconds: 86_400, per: 'relayer' };

/** Starts a service with a relayer of the same key on another cluster, which has no rules. */
async function withSister(home: ServiceHome): Promise<RunningService> {
  const file = join(home.dir, 'config.json');
  const config = JSON.parse(await readFile(file, 'utf8'));
  const [[relayer], [network]] = [config.relayers, config.networks];
  config.relayers.push({ ...relayer, id: 'sister', name: 'Sister', network: 'other' });
  config.networks.push({ ...network, network: 'other' });
  await writeFile(file, JSON.stringify(config));
  return startService(home);
}

describe('spending rules of a Solana relayer', () => {
  let rig: SolanaService;

  before(async () => {
    rig = await startSolanaService({ start: withSister });
    for (const { address } of [bob, carol]) await rig.solana.faucet(address, 1_000_000_000n);
    rig.solana.chain.advance(2);
  });
  after(() => rig?.stop());

  const path = () => `/relayers/${rig.home.relayerId}`;
  const setRules = async (rules: readonly object[] | null) => {
    const { status, text, body } = await rest(rig.service.baseUrl, 'PATCH', path(), { policies: { rules } });
    assert.equal(status, 200, text);
    return body.data.policies.rules;
  };
  const send = (body: object) => rest(rig.service.baseUrl, 'POST', `${path()}/transactions`, body);
  const balance = () => rig.solana.chain.account(bob.address, newest)?.lamports ?? 0n;

  it('the examples of the page are accepted, and a caller reads what it sets', async () => {
    const examples = ruleExamples('solana');
    assert.ok(examples.length >= 1);
    for (const example of examples) await setRules(example);
    const rule = {
      ...{ id: 'all', effect: 'allow', programs: [tokens], discriminators: ['0c'], to: [bob.address], assets: [mint] },
      ...{ max_value: 7, api_keys: ['bootstrap'], limits: [{ ...limit, asset: mint }] },
    };
    assert.deepEqual(await setRules([rule]), [rule]);
    const ofEvm = { policies: { rules: [{ ...rule, arguments: [] }] } };
    const { status, body } = await rest(rig.service.baseUrl, 'PATCH', path(), ofEvm);
    assert.deepEqual([status, body.error], [400, 'policies.rules[0].arguments is not a known field']);
    const usage = await rest(rig.service.baseUrl, 'GET', `${path()}/policies/usage`);
    assert.deepEqual(usage.body.data.limits[0].asset, { token: mint }, usage.text);
  });

  it('each instruction of a transaction must be allowed, in both forms of a body', async () => {
    await setRules([
      { id: 'bob', effect: 'allow', to: [bob.address], max_value: 5_000_000, limits: [limit, { ...limit, asset: mint, amount: 5 }] },
    ]);
    const own = address(rig.home.address);
    const signed = (instructions: Parameters<typeof transactionBody>[1]['instructions']) =>
      transactionBody(rig.solana.chain, { payer: own, instructions, version: 0 });
    const token = (data: readonly number[], accounts: readonly string[]) => ({
      instructions: [
        {
          program_id: tokens,
          accounts: accounts.map((pubkey) => ({ pubkey, is_signer: pubkey === rig.home.address, is_writable: false })),
          data: Buffer.from(data).toString('base64'),
        },
      ],
    });
    const rows: readonly (readonly [string, object, RegExp])[] = [
      ['another receiver', paymentBody(own, carol.address, 1n), /^instructions\[0\] is allowed by no rule .*bob, is not for its receiver$/],
      ['too much', paymentBody(own, bob.address, 5_000_001n), /^instructions\[0\] .* is not for its amount$/],
      [
        'a second instruction of a transaction',
        await signed([unitPriceOf(1n), transferOf(own, bob.address, 1n), transferOf(own, carol.address, 1n)]),
        /^instructions\[2\] .* is not for its receiver$/,
      ],
      [
        'a token transfer without its mint',
        token([3, 1, 0, 0, 0, 0, 0, 0, 0], [carol.address, bob.address, own]),
        /^instructions\[0\] .* cannot read its asset$/,
      ],
      [
        'a token transfer above the limit',
        token([12, 6, 0, 0, 0, 0, 0, 0, 0, 6], [carol.address, mint, bob.address, own]),
        /^instructions\[0\] needs 6 \(EPj.*\); the rule bob allows 5 in 86400 s$/,
      ],
    ];
    for (const [name, body, message] of rows) {
      const { status, body: answer, text } = await send(body);
      assert.equal(status, 403, `${name}: ${text}`);
      assert.match(answer.error, message, name);
      const quote = await rest(rig.service.baseUrl, 'POST', `${path()}/transactions/quote`, body);
      assert.deepEqual(
        quote.body.data?.refusals.map(({ reason }: { reason: string }) => reason),
        ['POLICY_DENIED'],
        `${name}: ${quote.text}`,
      );
    }
    const { transaction } = await signed([transferOf(own, bob.address, 1n)]);
    const refused = await rest(rig.service.baseUrl, 'POST', `${path()}/sign-transaction`, { transaction });
    assert.deepEqual([refused.status, refused.headers.get('x-error-reason')], [403, 'POLICY_DENIED'], refused.text);
    const allowed = await send(await signed([unitPriceOf(1n), transferOf(own, bob.address, 1n)]));
    assert.equal(allowed.status, 200, allowed.text);
    await rig.untilWithBlocks(allowed.body.data.id, 'confirmed');
  });

  it('a relayer of the same key on another cluster signs no transaction, since it names no chain', async () => {
    const body = await transactionBody(rig.solana.chain, {
      payer: address(rig.home.address),
      instructions: [transferOf(address(rig.home.address), carol.address, 1n)],
      version: 0,
    });
    const sign = (relayer: string) => rest(rig.service.baseUrl, 'POST', `/relayers/${relayer}/sign-transaction`, body);
    await setRules([{ id: 'none', effect: 'deny' }]);
    for (const relayer of [rig.home.relayerId, 'sister']) {
      const { status, headers, text } = await sign(relayer);
      assert.deepEqual([status, headers.get('x-error-reason')], [403, 'POLICY_DENIED'], text);
    }
    await setRules(null);
    const signed = await sign('sister');
    assert.equal(signed.status, 200, signed.text);
  });

  it('many callers at once never pass a limit, the chain pays nearly all of it, and what is spent counts on', async () => {
    await setRules([{ id: 'small', effect: 'allow', limits: [limit] }]);
    const before = balance();
    // Transactions that are alike wait for each other.
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => send(paymentBody(rig.home.address, bob.address, 1_000_000n + BigInt(index)))),
    );
    const accepted = answers.filter(({ status }) => status === 200);
    assert.equal(accepted.length, 33, 'as many as fit');
    assert.ok(answers.every(({ status }) => status === 200 || status === 403));
    for (const { body } of accepted) await rig.untilWithBlocks(body.data.id, 'confirmed');
    const paid = balance() - before;
    assert.ok(paid <= 34_000_000n && paid >= 32_300_000n, `${paid} of 34000000 were paid`);
    const more = await send(paymentBody(rig.home.address, bob.address, 1_000_100n));
    assert.deepEqual([more.status, more.headers.get('x-error-reason')], [403, 'SPEND_LIMIT_EXCEEDED'], more.text);
  });
});
