import assert from 'node:assert/strict';
import { it } from 'node:test';
import { rpcTargetFrom } from '../../../src/chains/rpc/http-client.js';

for (const [what, userInfo, expected] of [
  ['decoded', 'user:p%40ss', 'user:p@ss'],
  ['unchanged if their encoding is invalid', 'us%ZZer:100%', 'us%ZZer:100%'],
] as const) {
  it(`RPC URL: sends user and password ${what}`, () => {
    const { origin, headers } = rpcTargetFrom(`http://${userInfo}@node.example:8545/`, 'local');
    assert.equal(origin, 'http://node.example:8545');
    assert.equal(headers.authorization, `Basic ${Buffer.from(expected).toString('base64')}`);
  });
}
