import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type EvmRig, startEvmRig } from '../support/engine-rig.js';
import { type RpcAnswer, type RpcProxy, startRpcProxy } from '../support/rpc-proxy.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/** What a node answers a few times after the last block was made, before it shows the truth. */
const oddities: readonly { readonly name: string; readonly answer: RpcAnswer }[] = [
  { name: 'null', answer: { result: null } },
  { name: 'an error', answer: { error: { code: -32000, message: 'header not found' } } },
  { name: 'no answer', answer: null },
];

const methods = ['eth_sendRawTransaction', 'eth_getTransactionCount', 'eth_getTransactionReceipt', 'eth_getBlockByNumber'] as const;

/*
 * A node that makes a block for each transaction, as development nodes do, makes none after the last one. What is asked again only at the
 * next head is then never asked again.
 */
describe('the last block of a chain', () => {
  let anvil: Anvil;
  let proxy: RpcProxy;
  let rig: EvmRig;
  let odd: { readonly method: string; readonly answer: RpcAnswer } | null = null;
  let left = 0;
  let paid = 0n;

  before(async () => {
    anvil = await startAnvil();
    proxy = await startRpcProxy({
      target: anvil.url,
      answer: async (call, ask) => {
        const truth = await ask(call);
        if (odd === null || call.method !== odd.method || left === 0) return truth;
        left -= 1;
        return odd.answer;
      },
    });
    const network = { rpcUrls: [{ url: proxy.url, weight: 100 }], requiredConfirmations: 1 };
    rig = await startEvmRig(anvil, { folder: await temporaryFolder(), network });
    const { transaction } = await sendOne();
    await rig.until(transaction.id, 'confirmed');
  });
  after(async () => {
    await rig?.stop();
    await proxy?.stop();
    await anvil?.stop();
  });

  function sendOne() {
    paid += 1n;
    return rig.send({ valueWei: paid });
  }

  for (const method of methods) {
    for (const { name, answer } of oddities) {
      for (const times of [1, 3]) {
        it(`${method}: ${name}, ${times === 1 ? 'once' : `${times} times`}, and the truth from then on: each transaction is confirmed`, async () => {
          odd = { method, answer };
          left = times;
          const sent = await Promise.all([sendOne(), sendOne(), sendOne()]);
          for (const { transaction } of sent) await rig.until(transaction.id, 'confirmed');
          assert.ok(left < times, 'the node was asked');
        });
      }
    }
  }
});
