import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Contract, Memo } from '@stellar/stellar-sdk';
import { createRpc } from '../../../src/chains/rpc/rpc.js';
import { stellarDialect } from '../../../src/chains/stellar/dialect.js';
import { simulate } from '../../../src/chains/stellar/simulate.js';
import { rememberingLog } from '../../support/evm.js';
import { answering, FakeError, startFakeNode } from '../../support/fake-node.js';
import { stellarKey, stellarNetwork } from '../../support/stellar.js';

it('simulation: unknown words of one endpoint fail no transaction at once', async (test) => {
  const network = stellarNetwork();
  const nodes = await Promise.all(
    [1, 2].map(() =>
      startFakeNode(test, (request) =>
        answering(request, ({ method }) =>
          method === 'getNetwork' ? { passphrase: network.passphrase } : new FakeError(-32000, 'the ledger database is locked'),
        ),
      ),
    ),
  );
  const rpcUrls = nodes.map(({ url }, index) => ({ url, weight: 100 - index }));
  const rpc = createRpc({ network, rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, stellarDialect(network.passphrase));
  test.after(() => rpc.close());
  const operation = new Contract('CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD2KM').call('add').toXDR('base64');
  const content = {
    network: 'stellar',
    kind: 'operations',
    sourceAccount: stellarKey().address,
    operations: [operation],
    memo: Memo.none().toXDRObject().toXDR('base64'),
    auth: 'simulated',
    sorobanData: null,
    minTimeS: 0n,
    validityMs: null,
    maxTimeS: null,
    maxFeeStroops: null,
  } as const;
  const refusal = await simulate(rpc, content, 1n, 1_000_000n);
  assert.ok(
    'refused' in refusal && !refusal.lasting,
    JSON.stringify(refusal, (_, part) => (typeof part === 'bigint' ? String(part) : part)),
  );
});
