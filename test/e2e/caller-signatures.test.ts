import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { parseEther, Transaction } from 'ethers';
import { listPostgresInstances } from '../../src/storage/postgres/postgres-instances.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { startInstances } from '../support/instances.js';
import { startPostgres } from '../support/postgres.js';
import { createServiceHome, type RunningService, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const gwei = 10n ** 9n;

/** The value of a payment, and its receiver. */
interface Payment {
  readonly to: string;
  readonly wei: number;
}

interface SignedForCaller {
  readonly hash: string;
  readonly signed_transaction: string;
}

/** Such a payment with this nonce, which outbids the service. */
function unsigned({ to, wei }: Payment, nonce: number): { readonly unsigned_transaction: string } {
  const price = { maxFeePerGas: 500n * gwei, maxPriorityFeePerGas: 400n * gwei };
  const parts = { type: 2, chainId: 31337n, nonce, to, value: BigInt(wei), gasLimit: 21_000n, ...price };
  return { unsigned_transaction: Transaction.from(parts).unsignedSerialized };
}

/** A service whose relayer signs for callers, on a node that mines only when it is told. */
async function startRig(test: TestContext, funds = 10n ** 21n) {
  const anvil = await startAnvil({ noMining: true });
  test.after(() => anvil.stop());
  const home = await createServiceHome({ rpcUrl: anvil.url, policies: { allow_transaction_signing: true } });
  test.after(() => home.remove());
  const fund = (wei: bigint) => anvil.rpc('anvil_setBalance', [home.address, `0x${wei.toString(16)}`]);
  await fund(funds);
  let service = await startService(home);
  test.after(() => service.kill());
  const relayer = `/relayers/${home.relayerId}`;
  const call = async (verb: string, path: string, body?: object) => {
    const { status, body: answer, text } = await rest(service.baseUrl, verb, `${relayer}${path}`, body);
    assert.equal(status, 200, text);
    return answer.data;
  };
  const read = (id: string) => call('GET', `/transactions/${id}`);
  return {
    anvil,
    fund,
    running: (): RunningService => service,
    async restart() {
      service = await startService(home);
    },
    send: async ({ to, wei }: Payment): Promise<string> => (await call('POST', '/transactions', { to, value: wei, speed: 'average' })).id,
    sign: (payment: Payment, nonce: number): Promise<SignedForCaller> => call('POST', '/sign-transaction', unsigned(payment, nonce)),
    read,
    until: (id: string, what: string, holds: (record: { status: string; status_reason: string | null; nonce: number }) => boolean) =>
      waitFor(what, async () => {
        const record = await read(id);
        return holds(record) ? record : undefined;
      }),
    /** Makes blocks until the transaction is final. */
    end: (id: string) =>
      waitFor(`the end of ${id}`, async () => {
        await anvil.mine();
        const record = await read(id);
        return ['confirmed', 'failed', 'expired', 'canceled'].includes(record.status) ? record : undefined;
      }),
  };
}

async function broadcast(anvil: Anvil, { hash, signed_transaction: raw }: SignedForCaller) {
  assert.equal(await anvil.rpc('eth_sendRawTransaction', [raw]), hash);
}

async function paid(anvil: Anvil, { to }: Payment): Promise<bigint> {
  return BigInt(String(await anvil.rpc('eth_getBalance', [to, 'latest'])));
}

const [first, second, third] = ['11', '22', '33'].map((digits, index): Payment => ({ to: `0x${digits.repeat(20)}`, wei: index + 5 })) as [
  Payment,
  Payment,
  Payment,
];

describe('a transaction that the service signed for a caller, who broadcasts it', () => {
  it('takes the next free nonce while the lane has others in flight: all are paid once', async (test) => {
    const rig = await startRig(test);
    const ids = [await rig.send(first), await rig.send(second)];
    for (const id of ids) await rig.until(id, 'a node to have it', ({ status }) => status === 'submitted');
    const callers = { to: `0x${'44'.repeat(20)}`, wei: 3 };
    await broadcast(rig.anvil, await rig.sign(callers, 2));
    const last = await rig.send(third);
    const taken = await rig.until(last, 'it to have a nonce', ({ status }) => status !== 'pending');
    assert.equal(taken.nonce, 2);
    await rig.anvil.mine();
    for (const id of [...ids, last]) assert.equal((await rig.end(id)).status, 'confirmed');
    assert.equal((await rig.read(last)).nonce, 3);
    for (const one of [first, second, third, callers]) assert.equal(await paid(rig.anvil, one), BigInt(one.wei));
  });

  for (const isKilled of [false, true])
    it(`stands for a transaction that asks for the same in its slot, which fails${isKilled ? ', also if a SIGKILL comes between' : ''}`, async (test) => {
      const rig = await startRig(test);
      const [replaced, same] = [await rig.send(first), await rig.send(first)];
      for (const id of [replaced, same]) await rig.until(id, 'a node to have it', ({ status }) => status === 'submitted');
      const signed = await rig.sign(first, 0);
      if (isKilled) await rig.running().kill();
      await broadcast(rig.anvil, signed);
      await rig.anvil.mine();
      if (isKilled) await rig.restart();
      const record = await rig.end(replaced);
      assert.deepEqual([record.status, record.failure_reason], ['failed', 'displaced']);
      assert.match(
        record.status_reason,
        new RegExp(`${signed.hash}, which the service signed for a caller, did exactly what this one asks`),
      );
      assert.equal((await rig.end(same)).status, 'confirmed');
      assert.equal((await rig.end(await rig.send(second))).status, 'confirmed');
      assert.equal(await paid(rig.anvil, first), 2n * BigInt(first.wei));
    });

  it('stands for one transaction of several that wait without a nonce: the others are sent', async (test) => {
    const rig = await startRig(test, 0n);
    const waiting = [await rig.send(first), await rig.send(first)];
    for (const id of waiting) await rig.until(id, 'it to wait for funds', (record) => /balance/.test(record.status_reason ?? ''));
    const signed = await rig.sign(first, 0);
    await rig.running().kill();
    await rig.fund(10n ** 21n);
    await broadcast(rig.anvil, signed);
    await rig.anvil.mine();
    await rig.restart();
    const ends = [await rig.end(waiting[0] as string), await rig.end(waiting[1] as string)];
    assert.deepEqual(ends.map(({ status }) => status).sort(), ['confirmed', 'failed']);
    assert.match(ends.find(({ status }) => status === 'failed')?.status_reason, /signed for a caller, did exactly what this one asks/);
    assert.equal(await paid(rig.anvil, first), 2n * BigInt(first.wei));
  });

  it('stands for a transaction of the lane of another instance than the one that signed it, also after that instance takes the lane', async (test) => {
    const [anvil, postgres] = await Promise.all([startAnvil({ noMining: true }), startPostgres()]);
    test.after(() => Promise.all([anvil.stop(), postgres.stop()]));
    const databaseUrl = await postgres.newDatabase();
    const home = await createServiceHome({
      rpcUrl: anvil.url,
      policies: { allow_transaction_signing: true },
      env: { DATABASE_URL: databaseUrl },
    });
    test.after(() => home.remove());
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    const instances = await startInstances(home, 2);
    test.after(() => instances.stop());
    const holder = await waitFor('one of two instances to have the lane', async () => {
      const listed = await listPostgresInstances(databaseUrl);
      return listed.length === 2 ? listed.find(({ lanes }) => lanes === 1) : undefined;
    });
    const owner = instances.all.find((one) => one.process().pid === holder.pid) ?? assert.fail();
    const other = instances.all.find((one) => one !== owner) ?? assert.fail();
    const call = async ({ baseUrl }: typeof owner, verb: string, path: string, body?: object) => {
      const { status, body: answer, text } = await rest(baseUrl, verb, `/relayers/${home.relayerId}${path}`, body);
      assert.equal(status, 200, text);
      return answer.data;
    };
    const send = async ({ to, wei }: Payment): Promise<string> =>
      (await call(other, 'POST', '/transactions', { to, value: wei, speed: 'average' })).id;
    const read = (id: string) => call(other, 'GET', `/transactions/${id}`);
    const end = (id: string) =>
      waitFor(`the end of ${id}`, async () => {
        await anvil.mine();
        const record = await read(id);
        return ['confirmed', 'failed'].includes(record.status) ? record : undefined;
      });
    for (const isKilled of [false, true]) {
      const id = await send(first);
      const { nonce } = await waitFor('a node to have it', async () => {
        const record = await read(id);
        return record.status === 'submitted' ? record : undefined;
      });
      const signed = await call(other, 'POST', '/sign-transaction', unsigned(first, nonce));
      if (isKilled) await owner.process().kill();
      await broadcast(anvil, signed);
      const record = await end(id);
      assert.deepEqual([record.status, record.failure_reason], ['failed', 'displaced']);
      assert.match(record.status_reason, new RegExp(signed.hash));
    }
    const last = await end(await send(second));
    assert.equal(last.status, 'confirmed', last.status_reason);
    assert.deepEqual([await paid(anvil, first), await paid(anvil, second)], [2n * BigInt(first.wei), BigInt(second.wei)]);
    for (const instance of instances.all) await waitFor('both to be ready', async () => ((await instance.isReady()) ? true : undefined));
  });
});
