import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { AbiCoder } from 'ethers';
import { createBroadcaster } from '../../../src/chains/evm/broadcast.js';
import { broadcastTable } from '../../../src/chains/evm/broadcast-table.js';
import { evmDialect } from '../../../src/chains/evm/dialect.js';
import { isRevert } from '../../../src/chains/evm/execution-failure.js';
import { estimateGas, findRejection } from '../../../src/chains/evm/gas.js';
import { createRpc } from '../../../src/chains/rpc/rpc.js';
import { evmNetwork, rememberingLog } from '../../support/evm.js';
import { answering, FakeError, startFakeNode } from '../../support/fake-node.js';

/** What contracts say when they revert. Nodes say the same about themselves, or about the account. */
const reasons: readonly string[] = [
  'ERC20: transfer amount exceeds balance',
  'Address: insufficient balance',
  'insufficient funds',
  'insufficient balance for transfer',
  'transfer amount exceeds account balance',
  'exceeds balance',
  'Order could not be found',
  'block not found',
  'header not found',
  'unknown block',
  'block out of range',
  'archived',
  'this pool is archived',
  'pruned',
  'missing trie node',
  'historical state is not available',
  'gas limit is too high',
  'gas required exceeds allowance',
  'exceeds block gas limit',
  'intrinsic gas too low',
  'AA13 initCode failed or OOG',
  'AA21 didn’t pay prefund',
  'max initcode size exceeded',
  'nonce too low',
  'nonce too high',
  'already known',
  'replacement transaction underpriced',
  'transaction underpriced',
  'base fee too low',
  'fee too low',
  'txpool is full',
  'too many requests',
  'rate limit exceeded',
  'quota reached',
  'request limit',
  'batch too large',
  'response too large',
  'method not found',
  'timeout',
  'capacity reached',
  'is syncing',
  'invalid argument 0: too many arguments',
];

const dataOf = (reason: string): string => `0x08c379a0${AbiCoder.defaultAbiCoder().encode(['string'], [reason]).slice(2)}`;

/** How nodes report a revert with this reason. */
const styles: Readonly<Record<string, (reason: string) => FakeError>> = {
  geth: (reason) => new FakeError(3, `execution reverted: ${reason}`, dataOf(reason)),
  'geth, without a text': (reason) => new FakeError(3, 'execution reverted', dataOf(reason)),
  'the text alone': (reason) => new FakeError(-32_000, `execution reverted: ${reason}`),
  besu: (reason) => new FakeError(-32_000, `Execution reverted (${reason})`, dataOf(reason)),
  hardhat: (reason) =>
    new FakeError(-32_603, `Error: VM Exception while processing transaction: reverted with reason string '${reason}'`, dataOf(reason)),
  ganache: (reason) => new FakeError(-32_000, `VM Exception while processing transaction: revert ${reason}`),
  nitro: (reason) => new FakeError(-32_000, `err: execution reverted: ${reason} (supplied gas 100000)`),
  'data alone': (reason) => new FakeError(-32_015, reason, `Reverted ${dataOf(reason)}`),
  'with the code of a rate limit': (reason) => new FakeError(-32_005, `execution reverted: ${reason}`, dataOf(reason)),
};

const call = { from: `0x${'11'.repeat(20)}`, to: `0x${'22'.repeat(20)}`, valueWei: 0n, data: '0xa9059cbb' };

async function rpcOf(test: TestContext, errorOf: () => FakeError) {
  const node = await startFakeNode(test, (request) =>
    answering(request, ({ method }) => (method === 'eth_chainId' ? '0x7a69' : errorOf())),
  );
  const rpcUrls = [{ url: node.url, weight: 100 }];
  const rpc = createRpc({ network: evmNetwork(), rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, evmDialect(31_337n));
  test.after(() => rpc.close());
  return rpc;
}

describe('execution failures', () => {
  for (const [style, errorOf] of Object.entries(styles)) {
    it(`execution failures: are decided before any table of words, whatever the contract says: ${style}`, async (test) => {
      let reason = '';
      const rpc = await rpcOf(test, () => errorOf(reason));
      const broadcaster = createBroadcaster(rpc, rememberingLog(), evmNetwork());
      for (reason of reasons) {
        const refusal = await estimateGas(rpc, call, '0x7');
        assert.ok(typeof refusal !== 'bigint', reason);
        assert.deepEqual([refusal.refused, refusal.lasting], ['reverts', true], reason);
        assert.equal(await findRejection(rpc, call, 100_000n, '0x7', {}), null, reason);
        const [outcome] = await broadcaster.send(['0x02']);
        assert.equal(outcome?.kind, 'unknown', reason);
        // No circuit breaker trips: the endpoint answered.
        assert.equal(rpc.endpoints()[0]?.state, 'in_use', reason);
      }
    });
  }

  it('execution failures: what nodes say about themselves is none', () => {
    const words = broadcastTable.flatMap(({ examples }) => Object.values(examples).flat());
    for (const message of [...words, 'header not found', 'missing trie node 11 (path )', 'insufficient funds for transfer'])
      assert.equal(isRevert({ code: -32_000, message, data: null }), false, message);
    const address = `0x${'11'.repeat(20)}`;
    assert.equal(isRevert({ code: -32_000, message: 'insufficient funds', data: address }), false);
    assert.equal(isRevert({ code: -32_000, message: 'unknown block', data: `0x${'ab'.repeat(32)}` }), false);
  });
});
