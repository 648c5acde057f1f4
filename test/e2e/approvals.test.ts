import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { parseEther, Transaction } from 'ethers';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { type Instances, startInstances } from '../support/instances.js';
import { startPostgres } from '../support/postgres.js';
import { startRpcProxy } from '../support/rpc-proxy.js';
import { createServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const receiver = `0x${'52'.repeat(20)}`;
const rules = [
  { id: 'small', effect: 'allow', max_value: 9 },
  {
    id: 'large',
    effect: 'approve',
    approvals: 2,
    max_value: 100_000,
    limits: [{ asset: 'native', amount: 100_000, window_seconds: 3_600, per: 'relayer' }],
  },
];

/** A node that notes the amounts of what it is asked about, and of what it is asked to take. */
async function startNotingNode(test: TestContext) {
  const anvil = await startAnvil();
  const taken: bigint[] = [];
  const asked: bigint[] = [];
  const proxy = await startRpcProxy({
    target: anvil.url,
    answer: (call, ask) => {
      const [first] = call.params as readonly (string | { readonly value?: string } | undefined)[];
      if (call.method === 'eth_sendRawTransaction') taken.push(Transaction.from(first as string).value);
      else if (typeof first === 'object') asked.push(BigInt(first?.value ?? 0));
      return ask(call);
    },
  });
  test.after(async () => {
    await proxy.stop();
    await anvil.stop();
  });
  return { anvil, url: proxy.url, taken, asked };
}

/** Creates a key that may decide, and read; returns its id and the headers of its calls. */
async function createKey(baseUrl: string, name: string, scopes: readonly string[] = ['transactions:approve', 'transactions:read']) {
  const { status, text, body } = await rest(baseUrl, 'POST', '/api-keys', { name, scopes });
  assert.equal(status, 201, text);
  return { id: body.data.id as string, headers: { authorization: `Bearer ${body.data.key}` } };
}

describe('approvals over REST', () => {
  it('a payment is signed once two other keys have approved it, though the service is killed between', async (test) => {
    const { anvil, url, taken, asked } = await startNotingNode(test);
    const home = await createServiceHome({ rpcUrl: url, policies: { rules } });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('10').toString(16)}`]);
    let service = await startService(home);
    test.after(async () => {
      await service.stop();
      await home.remove();
    });
    const path = `/relayers/${home.relayerId}/transactions`;
    const call = (verb: string, suffix: string, body?: object, headers: Record<string, string> = {}) =>
      rest(service.baseUrl, verb, `${path}${suffix}`, body, headers);
    const pay = async (value: number) => {
      const { status, text, body } = await call('POST', '', { to: receiver, value });
      assert.equal(status, 200, text);
      return body.data;
    };
    const until = (id: string, status: string) =>
      waitFor(`${id} to be ${status}`, async () => {
        const { body } = await call('GET', `/${id}`);
        return body.data.status === status ? body.data : undefined;
      });
    const [boss, clerk] = [await createKey(service.baseUrl, 'boss'), await createKey(service.baseUrl, 'clerk')];

    const sent = await pay(1_000);
    assert.deepEqual(
      [
        sent.status,
        sent.nonce,
        sent.hash,
        sent.approval.rule_id,
        sent.approval.required,
        sent.approval.given,
        sent.approval.sender_api_key_ids,
      ],
      ['pending', null, null, 'large', 2, [], ['bootstrap']],
    );
    const secondsLeft = (Date.parse(sent.approval.expires_at) - Date.parse(sent.created_at)) / 1_000;
    assert.ok(Math.abs(secondsLeft - 86_400) < 5, String(secondsLeft));
    const usage = async () => (await rest(service.baseUrl, 'GET', `/relayers/${home.relayerId}/policies/usage`)).body.data.limits[0];
    assert.deepEqual([(await usage()).reserved, (await usage()).left], [1_000, 99_000]);

    /** Reads the record, and decides about what it has read. */
    const decide = async (id: string, verb: 'approve' | 'reject', headers: Record<string, string> = {}) => {
      const { body } = await call('GET', `/${id}`);
      return call('POST', `/${id}/${verb}`, undefined, { ...headers, 'if-match': `"${body.data.revision}"` });
    };
    const own = await decide(sent.id, 'approve');
    assert.deepEqual([own.status, own.headers.get('x-error-reason')], [403, 'APPROVAL_BY_SENDER']);
    const unseen = await call('POST', `/${sent.id}/approve`, undefined, { ...boss.headers, 'if-match': `"${sent.revision + 7}"` });
    assert.equal(unseen.status, 412, unseen.text);
    const scopeless = await call(
      'POST',
      `/${sent.id}/approve`,
      undefined,
      (await createKey(service.baseUrl, 'reader', ['transactions:write'])).headers,
    );
    assert.deepEqual([scopeless.status, scopeless.headers.get('x-error-reason')], [403, 'SCOPE_MISSING']);

    for (let turn = 0; turn < 2; turn += 1) {
      const approved = await decide(sent.id, 'approve', boss.headers);
      assert.equal(approved.status, 200, approved.text);
      assert.deepEqual(
        approved.body.data.approval.given.map((one: { api_key_id: string }) => one.api_key_id),
        [boss.id],
      );
    }
    await service.kill();
    service = await startService(home);
    // Once this is mined, the lane has looked at all that waits.
    await until((await pay(5)).id, 'confirmed');
    const { body: waiting } = await call('GET', `/${sent.id}`);
    assert.deepEqual([waiting.data.status, waiting.data.nonce, waiting.data.approval.given.length], ['pending', null, 1]);
    assert.deepEqual([taken, asked.filter((value) => value === 1_000n)], [[5n], []]);

    const last = await call('POST', `/${sent.id}/approve`, undefined, { ...clerk.headers, 'if-match': `"${waiting.data.revision}"` });
    assert.equal(last.status, 200, last.text);
    await service.kill();
    service = await startService(home);
    assert.equal((await until(sent.id, 'confirmed')).nonce, 1);
    assert.equal(BigInt((await anvil.rpc('eth_getBalance', [receiver, 'latest'])) as string), 1_005n);

    const rejected = await pay(2_000);
    const ended = await decide(rejected.id, 'reject', clerk.headers);
    assert.deepEqual(
      [ended.status, ended.body.data.status, ended.body.data.status_reason, ended.body.data.approval.rejected.api_key_id],
      [200, 'canceled', `rejected by the API key ${clerk.id}`, clerk.id],
    );
    await waitFor('its amount to be free', async () => ((await usage()).reserved === 0 ? true : undefined));
    const late = await decide(rejected.id, 'approve', boss.headers);
    assert.deepEqual([late.status, late.headers.get('x-error-reason')], [400, 'TRANSACTION_CANCELED']);

    const signing = await rest(service.baseUrl, 'POST', `/relayers/${home.relayerId}/sign`, { message: 'hello' });
    assert.deepEqual([signing.status, signing.headers.get('x-error-reason')], [403, 'POLICY_DENIED'], 'no rule allows a signature');
    assert.ok(
      taken.every((value) => value === 5n || value === 1_000n),
      String(taken),
    );
  });

  it('of approvals, rejections and cancels at two instances, of which one is killed, one outcome stands', async (test) => {
    const { anvil, url, taken } = await startNotingNode(test);
    const postgres = await startPostgres();
    test.after(() => postgres.stop());
    const home = await createServiceHome({ rpcUrl: url, policies: { rules }, env: { DATABASE_URL: await postgres.newDatabase() } });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('10').toString(16)}`]);
    const instances = await startInstances(home, 2);
    test.after(async () => {
      await instances.stop();
      await home.remove();
    });
    const path = `/relayers/${home.relayerId}/transactions`;
    const [first, second] = [instances.all[0] ?? assert.fail(), instances.all[1] ?? assert.fail()];
    const [boss, clerk] = [await createKey(first.baseUrl, 'boss'), await createKey(first.baseUrl, 'clerk')];
    await known(instances, path, [boss.headers, clerk.headers]);
    const payments = 24;
    const ids = await Promise.all(
      Array.from({ length: payments }, async (_, index) => {
        const { text, body } = await rest(index % 2 === 0 ? first.baseUrl : second.baseUrl, 'POST', path, {
          to: receiver,
          value: 1_000 + index,
        });
        assert.equal(body.success, true, text);
        return body.data.id as string;
      }),
    );
    let decided = 0;
    const killing = waitFor('some decisions', () => (decided >= payments ? true : undefined)).then(() => {
      process.kill(second.process().pid ?? assert.fail(), 'SIGKILL');
    });
    const decide = async (baseUrl: string, verb: string, suffix: string, headers: Record<string, string>) => {
      for (;;) {
        const record = await rest(baseUrl, 'GET', `${path}/${suffix.split('/')[0]}`).catch(() => null);
        const seen = { ...headers, 'if-match': `"${record?.body.data.revision}"` };
        const answer = record && (await rest(baseUrl, verb, `${path}/${suffix}`, undefined, seen).catch(() => null));
        if (answer?.status === 412) continue;
        decided += 1;
        return answer?.status ?? 0;
      }
    };
    const answers = await Promise.all(
      ids.map(async (id, index) => {
        const isCancel = index % 3 === 2;
        const last = isCancel
          ? { verb: 'DELETE', suffix: id, headers: {} }
          : { verb: 'POST', suffix: `${id}/reject`, headers: boss.headers };
        const calls = [
          decide(first.baseUrl, 'POST', `${id}/approve`, boss.headers),
          decide(second.baseUrl, 'POST', `${id}/approve`, clerk.headers),
          ...(index % 3 === 0 ? [] : [decide(index % 2 === 0 ? second.baseUrl : first.baseUrl, last.verb, last.suffix, last.headers)]),
        ];
        return Promise.all(calls);
      }),
    );
    await killing;
    // What the killed instance did not do.
    const { baseUrl } = await instances.ready();
    for (const id of ids) for (const { headers } of [boss, clerk]) await decide(baseUrl, 'POST', `${id}/approve`, headers);
    const records = await waitFor(
      'all to be final',
      async () => {
        const { body } = await rest(baseUrl, 'GET', `${path}?per_page=100`);
        return body.data.every(({ status }: { status: string }) => ['confirmed', 'canceled'].includes(status)) ? body.data : undefined;
      },
      120_000,
    );
    const paid = BigInt((await anvil.rpc('eth_getBalance', [receiver, 'latest'])) as string);
    const confirmed = records.filter(({ status }: { status: string }) => status === 'confirmed');
    assert.equal(
      paid,
      confirmed.reduce((sum: bigint, { value }: { value: string }) => sum + BigInt(value), 0n),
    );
    for (const { value, approval } of confirmed) {
      assert.deepEqual(approval.given.map((one: { api_key_id: string }) => one.api_key_id).sort(), [boss.id, clerk.id].sort(), value);
      assert.equal(approval.rejected, undefined);
    }
    // A cancel may come when a payment is signed, but a rejection never.
    for (const { value, approval } of records) if (approval.rejected) assert.ok(!taken.includes(BigInt(value)), value);
    assert.ok(confirmed.length >= payments / 3, `${confirmed.length} are confirmed: ${answers.flat().join()}`);
  });
});

/** Waits until all instances know these keys. */
async function known(instances: Instances, path: string, keys: readonly Record<string, string>[]): Promise<void> {
  for (const { baseUrl } of instances.all)
    for (const headers of keys)
      await waitFor('the key to be known', async () =>
        (await rest(baseUrl, 'GET', path, undefined, headers)).status === 200 ? true : undefined,
      );
}
