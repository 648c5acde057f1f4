import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSolanaChain } from '../../../src/chains/solana/solana-chain.js';
import { type AskedCall, answering, FakeError, startFakeNode } from '../../support/fake-node.js';
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

it('broadcast: a refusal in unknown words is logged once, whichever transaction and number it names', async (test) => {
  let words = '';
  const node = await startFakeNode(test, (request) => answering(request, () => new FakeError(-32099, words)));
  const rpcUrls = [{ url: node.url, weight: 100 }];
  const { network } = solanaRelayer('1'.repeat(32), {}, { rpcUrls });
  assert.ok(network.type === 'solana');
  const warned: object[] = [];
  const log = { ...silentLog, warn: (fields: object, message: string) => void warned.push({ ...fields, message }) };
  const chain = createSolanaChain({ network, rpcUrls, rpcTimeoutMs: 3_000, log });
  test.after(() => chain.close());
  for (words of ['the moon is at 7', 'the moon is at 81', 'the sun is down', 'the moon is at 9']) await chain.broadcastAll(['AAAA']);
  const line = { network: network.name, code: -32099, message: 'RPC node rejected a transaction with an unknown error' };
  assert.deepEqual(warned, [
    { ...line, answer: 'the moon is at 7' },
    { ...line, answer: 'the sun is down' },
  ]);
});
