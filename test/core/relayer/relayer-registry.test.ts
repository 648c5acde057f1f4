import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Chain } from '../../../src/core/ports/chain.js';
import type { Signer } from '../../../src/core/ports/signer.js';
import { createDirectory } from '../../../src/core/relayer/create-directory.js';
import { createRelayerRegistry } from '../../../src/core/relayer/relayer-registry.js';
import { relayers } from '../../support/rest-rig.js';

for (const [what, before, after] of [
  ['disabled', null, 'this is another chain'],
  ['enabled again', 'this is another chain', null],
] as const) {
  it(`registry: a relayer that the service has ${what} during a change stays so`, async () => {
    const customRpcUrls = [{ url: 'http://127.0.0.1:9', weight: 100 }];
    const relayer = { ...(relayers.get('evm') ?? assert.fail('there is none')), customRpcUrls, disabledReason: before };
    const chain = {} as Chain;
    const directory = createDirectory([{ relayer, chain, signer: {} as Signer }]);
    const chains = {
      async acquire() {
        directory.setDisabled(relayer.id, after);
        return chain;
      },
      async release() {},
    };
    const registry = createRelayerRegistry({ directory, chains, engine: { async open() {}, async close() {} } });
    await registry.change({ ...relayer, name: 'New' });
    const { name, disabledReason } = directory.relayer(relayer.id) ?? assert.fail('it is gone');
    assert.deepEqual([name, disabledReason], ['New', after]);
  });
}
