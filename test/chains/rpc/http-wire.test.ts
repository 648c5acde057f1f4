import assert from 'node:assert/strict';
import { it } from 'node:test';
import { rpcTargetFrom } from '../../../src/chains/rpc/http-wire.js';

for (const [what, userInfo, expected] of [
  ['as it is meant', 'user:p%40ss', 'user:p@ss'],
  ['as it stands where it is not well encoded', 'us%ZZer:100%', 'us%ZZer:100%'],
] as const) {
  it(`user and password of an RPC URL are sent ${what}`, () => {
    const { origin, headers } = rpcTargetFrom(`http://${userInfo}@node.example:8545/`, 'local');
    assert.equal(origin, 'http://node.example:8545');
    assert.equal(headers.authorization, `Basic ${Buffer.from(expected).toString('base64')}`);
  });
}
