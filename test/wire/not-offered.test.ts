import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { type Ed25519App, startEd25519App } from '../support/app-rig.js';
import { type RpcAsker, rpcAskers } from '../support/rpc-askers.js';

let app: Ed25519App;
let askers: readonly RpcAsker[];

before(async () => {
  app = await startEd25519App({ network: 'solana' });
  askers = rpcAskers(app.baseUrl);
});

after(async () => {
  for (const asker of askers ?? []) asker.close();
  await app?.stop();
});

/** Calls of the existing service, with what the sentence says. */
const rows: readonly (readonly [verb: string, path: string, sentence: RegExp])[] = [
  ['POST', '/api/v1/relayers/r1/transactions/sponsored/quote', /^sponsored transactions are not supported; /],
  ['POST', '/api/v1/relayers/r1/transactions/sponsored/build', /^sponsored transactions are not supported; /],
  ['POST', '/api/v1/relayers/nobody/transactions/sponsored/build/', /^sponsored transactions are not supported; /],
  ['GET', '/api/v1/api-keys/some/permissions', /^permissions of API keys are not supported; /],
  ['GET', '/api/v1/metrics', /only at \/metrics$/],
  ['GET', '/api/v1/metrics/requests_total', /only at \/metrics$/],
  ['GET', '/metrics/requests_total', /only at \/metrics$/],
  ['GET', '/debug/metrics/scrape', /only at \/metrics$/],
];

describe('calls of OpenZeppelin Relayer that are not supported', () => {
  for (const [verb, path, sentence] of rows) {
    it(`${verb} ${path} answers 501 NOT_IMPLEMENTED and says what to do instead`, async () => {
      const answer = await app.ask(verb, path, verb === 'GET' ? {} : { body: '{"params":{}}' });
      assert.equal(answer.status, 501, answer.text);
      assert.equal(answer.headers['x-error-reason'], 'NOT_IMPLEMENTED');
      const { success, data, message, error } = JSON.parse(answer.text);
      assert.deepEqual({ success, data, message }, { success: false, data: null, message: 'Not Implemented' });
      assert.match(error, sentence);
    });
  }

  for (const path of ['/api/v1/pluginsx', '/api/v1/plugin', '/api/v2/plugins', '/api/v1/relayers/r1/sponsored/quote', '/debug/metrics']) {
    it(`${path} is no path of that service and answers 404`, async () => {
      assert.equal((await app.ask('GET', path)).headers['x-error-reason'], 'PATH_NOT_FOUND');
    });
  }
});

const paymasterMethods = [
  'feeEstimate',
  'transferTransaction',
  'prepareTransaction',
  'signTransaction',
  'signAndSendTransaction',
  'getSupportedTokens',
  'getFeaturesEnabled',
  'getSupportedFeatures',
];

describe('methods of a paymaster on Solana', () => {
  const rpc = '/api/v1/relayers/r1/rpc';
  const callOf = (method: string) => ({ jsonrpc: '2.0', id: 7, method, params: { transaction: 'AQ==', fee_token: 'So11' } });

  for (const method of paymasterMethods) {
    it(`${method} is answered with 501 over REST, UNIMPLEMENTED over RPC, and an error of its own in a batch`, async () => {
      const sentence = `the paymaster method ${method} is not supported; the relayer pays the fees`;
      const single = await app.ask('POST', rpc, { body: JSON.stringify(callOf(method)) });
      const { success, message, error } = JSON.parse(single.text);
      assert.deepEqual(
        [single.status, single.headers['x-error-reason'], success, message, error],
        [501, 'NOT_IMPLEMENTED', false, 'Not Implemented', sentence],
      );
      const batch = await app.ask('POST', rpc, { body: JSON.stringify([callOf(method)]) });
      assert.equal(batch.status, 200);
      assert.deepEqual(JSON.parse(batch.text), [
        { jsonrpc: '2.0', id: 7, error: { code: -32601, message: sentence, description: sentence } },
      ]);
      for (const asker of askers) {
        const answer = await asker.ask(RelayerService.method.callRpc, { relayerId: 'r1', method, params: '{}' });
        assert.ok(!answer.ok, asker.protocol);
        assert.deepEqual(
          [answer.code, answer.info?.reason, answer.info?.metadata.network_type, answer.sentence],
          ['Unimplemented', 'NOT_IMPLEMENTED', 'solana', sentence],
          asker.protocol,
        );
      }
    });
  }

  it('a method that neither service knows stays a JSON-RPC error', async () => {
    const answer = await app.ask('POST', rpc, { body: JSON.stringify(callOf('sendTransaction')) });
    assert.equal(answer.status, 200);
    assert.equal(JSON.parse(answer.text).error.code, -32601);
  });
});
