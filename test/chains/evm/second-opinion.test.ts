import assert from 'node:assert/strict';
import { it } from 'node:test';
import { gwei, openChain } from '../../support/chain-rig.js';
import { answering, startFakeNode } from '../../support/fake-node.js';

const block = (number: number) => ({
  number: `0x${number.toString(16)}`,
  hash: `0x${number.toString(16).padStart(64, '0')}`,
  timestamp: '0x1',
  gasLimit: '0x1c9c380',
  baseFeePerGas: `0x${gwei.toString(16)}`,
});

it('second opinion: the endpoint that gave the first one does not give it while another one is only down', async (test) => {
  const liar = await startFakeNode(test, (request) =>
    answering(request, ({ method }) =>
      method === 'eth_getTransactionCount' ? '0x40' : method === 'eth_getBlockByNumber' ? block(7) : null,
    ),
  );
  const down = await startFakeNode(test, () => 'hang up');
  const { chain } = openChain(test, [liar.url, down.url]);
  const head = await chain.head();
  const account = `0x${'11'.repeat(20)}`;
  assert.equal(await chain.sequence.nextAt(account, head.number), 64n);
  await assert.rejects(chain.sequence.nextAt(account, head.number, 'another'), { reason: 'NODE_UNAVAILABLE' });
});
