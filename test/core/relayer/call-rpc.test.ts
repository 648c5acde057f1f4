import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Chain } from '../../../src/core/ports/chain/chain.js';
import { callRpc } from '../../../src/core/relayer/call-rpc.js';
import { relayers } from '../../support/rest-rig.js';

for (const [said, networkType, sent] of [
  [undefined, 'evm', '[]'],
  ['null', 'evm', '[]'],
  ['null', 'stellar', null],
  ['{"a":1.0}', 'evm', '{"a":1.0}'],
] as const) {
  it(`call: the params ${said} are sent to a ${networkType} node as ${sent}`, async () => {
    const relayer = relayers.get(networkType) ?? assert.fail('there is none');
    const seen: unknown[] = [];
    const chain: Pick<Chain, 'forward'> = {
      async forward(_, paramsJson) {
        seen.push(paramsJson);
        return { resultJson: '1' };
      },
    };
    const method = networkType === 'evm' ? 'eth_chainId' : 'getHealth';
    const call = { jsonrpc: undefined, method, paramsJson: said, idJson: undefined };
    await callRpc({ directory: { chainOf: () => chain as Chain } }, relayer, call);
    assert.deepEqual(seen, [sent]);
  });
}
