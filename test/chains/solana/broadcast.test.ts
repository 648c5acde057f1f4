import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSolanaChain } from '../../../src/chains/solana/solana-chain.js';
import { type AskedCall, answering, startFakeNode } from '../../support/fake-node.js';
import { solanaRelayer } from '../../support/solana.js';
import { silentLog } from '../../support/stored-samples.js';

it('broadcast: sends exactly these parameters, so that a node neither retries by itself nor judges by old blocks', async (test) => {
  const asked: AskedCall[] = [];
  const node = await startFakeNode(test, (request) =>
    answering(request, (call) => {
      asked.push(call);
      return '1'.repeat(64);
    }),
  );
  const rpcUrls = [{ url: node.url, weight: 100 }];
  const { network } = solanaRelayer('1'.repeat(32), {}, { rpcUrls });
  assert.ok(network.type === 'solana');
  const chain = createSolanaChain({ network, rpcUrls, rpcTimeoutMs: 3_000, log: silentLog });
  test.after(() => chain.close());
  await chain.broadcastAll(['AAAA', 'BBBB']);
  const config = { encoding: 'base64', skipPreflight: true, maxRetries: 0, preflightCommitment: 'processed' };
  assert.deepEqual(
    asked.filter(({ method }) => method === 'sendTransaction').map(({ params }) => params),
    [
      ['AAAA', config],
      ['BBBB', config],
    ],
  );
});
