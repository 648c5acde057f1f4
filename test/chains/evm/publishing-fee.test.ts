import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { AbiCoder, Transaction } from 'ethers';
import type { EvmDraft } from '../../../src/core/records/evm.js';
import { type Anvil, startAnvil } from '../../support/anvil.js';
import { anvilSigner, gwei, openChain } from '../../support/chain-rig.js';
import { draftRequest, evmContent } from '../../support/evm.js';
import { answering, FakeError, relayed, startFakeNode } from '../../support/fake-node.js';

const { address } = anvilSigner;
const oracle = '0x420000000000000000000000000000000000000F';
const feeWei = 4_000_000n;
let node: Anvil;

before(async () => {
  node = await startAnvil({ noMining: true });
  // A contract that returns the fee for any call.
  await node.rpc('anvil_setCode', [oracle, `0x63${feeWei.toString(16).padStart(8, '0')}60005260206000f3`]);
});
after(() => node.stop());

const pricing = { kind: 'legacy', gasPriceWei: 2n * gwei } as const;
const gasWei = 21_000n * 2n * gwei;

async function refusedWith(test: TestContext, balanceWei: bigint, tags: readonly string[]): Promise<string | null> {
  await node.rpc('anvil_setBalance', [address, `0x${balanceWei.toString(16)}`]);
  const { chain } = openChain(test, [node.url], { tags });
  const draft = await chain.draft(draftRequest(address, { content: evmContent({ gasLimit: 21_000n, pricing, valueWei: 7n }) }));
  return 'refused' in draft ? draft.sentence : null;
}

describe('L1 fee', () => {
  it('L1 fee: is part of the cost, with a margin, if the network charges one', async (test) => {
    const neededWei = 7n + gasWei + feeWei + feeWei / 4n;
    for (const tag of ['optimism', 'optimism-based']) {
      assert.match((await refusedWith(test, neededWei - 1n, [tag])) ?? '', new RegExp(`may cost ${neededWei} wei`));
      assert.equal(await refusedWith(test, neededWei, [tag]), null);
    }
  });

  it('L1 fee: is 0 on other networks, including rollups that charge it in another way', async (test) => {
    assert.equal(await refusedWith(test, 7n + gasWei, []), null);
    assert.equal(await refusedWith(test, 7n + gasWei, ['polygon-zkevm', 'arbitrum-based', 'no-mempool']), null);
  });

  it('L1 fee: is the lowest of several opinions if one endpoint shows a huge one, at first or later', async (test) => {
    await node.rpc('anvil_setBalance', [address, '0xde0b6b3a7640000']);
    for (const isHugeFrom of [0, 1]) {
      for (const place of [0, 1]) {
        let asked = 0;
        const liar = await startFakeNode(test, (request) =>
          request.calls[0]?.method === 'eth_call' && asked++ >= isHugeFrom
            ? answering(request, () => `0x${(10n ** 30n).toString(16).padStart(64, '0')}`)
            : relayed(node.url, request),
        );
        const { chain } = openChain(test, place === 0 ? [liar.url, node.url] : [node.url, liar.url], { tags: ['optimism'] });
        await chain.head();
        for (let data = 16; data < 22; data += 1) {
          const content = evmContent({ gasLimit: 31_000n, pricing, data: `0x${data.toString(16)}` });
          const draft = await chain.draft(draftRequest(address, { content }));
          assert.ok('publishingFeeWei' in draft && draft.publishingFeeWei === (feeWei * 5n) / 4n, `${isHugeFrom} ${place}`);
        }
      }
    }
  });

  it('L1 fee: of content whose cost a rule bounds, no endpoint alone shows too little, nor of three too much', async (test) => {
    await node.rpc('anvil_setBalance', [address, '0xde0b6b3a7640000']);
    const showing = async (wei: bigint) =>
      (
        await startFakeNode(test, (request) =>
          request.calls.some(({ params }) => JSON.stringify(params).includes(oracle))
            ? answering(request, () => `0x${wei.toString(16).padStart(64, '0')}`)
            : relayed(node.url, request),
        )
      ).url;
    const maxCost = { ruleId: 'teams', max: 10n ** 18n };
    for (const [shownWei, honest] of [
      [0n, [node.url]],
      [0n, [node.url, node.url]],
      [10n ** 17n, [node.url, node.url]],
    ] as const)
      for (const place of honest.concat(node.url).keys()) {
        const { chain } = openChain(test, [...honest].toSpliced(place, 0, await showing(shownWei)), { tags: ['optimism'] });
        await chain.head();
        for (const data of [null, '0x01']) {
          const content = evmContent({ gasLimit: 31_000n, pricing, data, maxCost });
          const draft = await chain.draft(draftRequest(address, { content }));
          assert.ok('publishingFeeWei' in draft, JSON.stringify('sentence' in draft && draft.sentence));
          assert.equal(draft.publishingFeeWei, (feeWei * 5n) / 4n, `${shownWei} at ${place}`);
        }
      }
  });

  it('L1 fee: what one endpoint alone showed is asked for again once another one shows it too', async (test) => {
    await node.rpc('anvil_setBalance', [address, '0xde0b6b3a7640000']);
    const isFee = (calls: readonly { readonly method: string }[]) => calls[0]?.method === 'eth_call';
    const liar = await startFakeNode(test, (request) =>
      isFee(request.calls) ? answering(request, () => `0x${(10n ** 30n).toString(16).padStart(64, '0')}`) : relayed(node.url, request),
    );
    let isAlone = true;
    const honest = await startFakeNode(test, (request) =>
      isAlone && isFee(request.calls) ? answering(request, () => new FakeError(-32000, 'header not found')) : relayed(node.url, request),
    );
    const { chain } = openChain(test, [liar.url, honest.url], { tags: ['optimism'] });
    await chain.head();
    for (let data = 16; data < 22; data += 1) {
      const content = evmContent({ gasLimit: 31_000n, pricing, data: `0x${data.toString(16)}` });
      const draft = await chain.draft(draftRequest(address, { content }));
      assert.equal('publishingFeeWei' in draft && draft.publishingFeeWei === (feeWei * 5n) / 4n, !isAlone);
      isAlone = false;
    }
  });

  it('L1 fee: what several endpoints showed needs no second word for ten minutes', async (test) => {
    await node.rpc('anvil_setBalance', [address, '0xde0b6b3a7640000']);
    let asked = 0;
    let times = 1n;
    const counting = () =>
      startFakeNode(test, (request) => {
        if (request.calls[0]?.method !== 'eth_call') return relayed(node.url, request);
        asked += 1;
        return answering(request, () => `0x${(feeWei * times).toString(16).padStart(64, '0')}`);
      });
    let elapsedMs = 0;
    const clock = { nowMs: Date.now, elapsedMs: () => elapsedMs };
    const urls = [(await counting()).url, (await counting()).url];
    const { chain } = openChain(test, urls, { tags: ['optimism'] }, clock);
    await chain.head();
    const content = evmContent({ gasLimit: 31_000n, pricing, data: '0x16' });
    const askedForDraft = async (): Promise<number> => {
      asked = 0;
      const draft = await chain.draft(draftRequest(address, { content }));
      assert.ok('publishingFeeWei' in draft);
      assert.equal(draft.publishingFeeWei, (feeWei * times * 5n) / 4n);
      return asked;
    };
    const counts: number[] = [];
    for (const [atMs, multiple] of [
      [0, 1n],
      [1, 1n],
      // Up to four times as much needs no second word either.
      [599_999, 3n],
      [600_000, 3n],
      [600_001, 3n],
      [600_002, 16n],
    ] as const) {
      [elapsedMs, times] = [atMs, multiple];
      counts.push(await askedForDraft());
    }
    // A second word is one call to each endpoint besides the first one; a call may be repeated after a long pause.
    assert.deepEqual(
      counts.map((count) => count > 2),
      [true, false, false, true, false, true],
      counts.join(),
    );
  });

  it('L1 fee: is left out if no node can report it, and that is logged once', async (test) => {
    await node.rpc('anvil_setBalance', [address, '0xde0b6b3a7640000']);
    const silent = await startFakeNode(test, (request) =>
      request.calls[0]?.method === 'eth_call' ? answering(request, () => '0x') : relayed(node.url, request),
    );
    const { chain, lines } = openChain(test, [silent.url], { tags: ['optimism'] });
    for (let round = 0; round < 2; round += 1) {
      const draft = await chain.draft(draftRequest(address, { content: evmContent({ gasLimit: 21_000n, pricing }) }));
      assert.ok(!('refused' in draft));
    }
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /L1 fee is unknown/);
  });

  it('L1 fee: is computed from the bytes of the transaction', async (test) => {
    const asked: string[] = [];
    const proxy = await startFakeNode(test, (request) => {
      for (const { method, params } of request.calls) {
        const { to, data } = (params[0] ?? {}) as { to?: string; data?: string };
        if (method === 'eth_call' && to?.toLowerCase() === '0x420000000000000000000000000000000000000f') asked.push(String(data));
      }
      return relayed(node.url, request);
    });
    const { chain } = openChain(test, [proxy.url], { tags: ['optimism'] });
    const data = `0x${'c0ffee'.repeat(33)}`;
    const draft = (await chain.draft(draftRequest(address, { content: evmContent({ data, gasLimit: 90_000n }) }))) as EvmDraft;
    assert.equal(asked[0]?.slice(0, 10), '0x49948e0e');
    const [bytes] = AbiCoder.defaultAbiCoder().decode(['bytes'], `0x${asked[0]?.slice(10)}`);
    const published = Transaction.from(bytes);
    assert.deepEqual([published.to, published.data, published.gasLimit, published.chainId], [draft.to, data, 90_000n, 31337n]);
  });
});
