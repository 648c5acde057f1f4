import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const sends = 50;

describe('SIGKILL during sends', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;

  before(async () => {
    anvil = await startAnvil({ blockTime: 1 });
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    service = await startService(home);
  });

  after(async () => {
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  it(`SIGKILL during ${sends} sends: each send answered 200 is confirmed exactly once, every other at most once`, async () => {
    const answered = new Map<number, string>();
    // Each send has a value of its own, which identifies it in the chain's blocks.
    let killed: Promise<void> | undefined;
    await Promise.all(
      Array.from({ length: sends }, async (_, index) => {
        const { status, body } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', {
          to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
          value: 1_000_000 + index,
          speed: 'fast',
        });
        assert.equal(status, 200);
        answered.set(index, body.data.id);
        if (answered.size === sends / 2) killed = service.kill();
      }).map((send) => send.catch(() => undefined)),
    );
    await killed;
    assert.ok(answered.size >= sends / 2, `only ${answered.size} sends were answered before the kill`);

    service = await startService(home);
    const list = async () =>
      (await rest(service.baseUrl, 'GET', '/relayers/r1/transactions?per_page=100')).body.data as {
        id: string;
        status: string;
        hash: string;
        value: string;
      }[];
    const stored = await waitFor('every stored transaction to be confirmed', async () => {
      const all = await list();
      return all.every(({ status }) => status === 'confirmed') ? all : undefined;
    });

    const onChain = new Map<string, string[]>();
    const height = Number(await anvil.rpc('eth_blockNumber', []));
    for (let number = 0; number <= height; number++) {
      const block = (await anvil.rpc('eth_getBlockByNumber', [`0x${number.toString(16)}`, true])) as {
        transactions: { hash: string; value: string }[];
      };
      for (const { hash, value } of block.transactions) {
        const key = BigInt(value).toString();
        onChain.set(key, [...(onChain.get(key) ?? []), hash]);
      }
    }
    for (const [index, id] of answered) {
      const record = stored.find((transaction) => transaction.id === id);
      assert.deepEqual(onChain.get(String(1_000_000 + index)), [record?.hash], `send ${index}`);
    }
    for (const hashes of onChain.values()) assert.equal(hashes.length, 1);
    assert.equal(onChain.size, stored.length);
  });
});
