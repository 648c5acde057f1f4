import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Account, Asset, Keypair, Networks, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type RestClient, type RestResult, restClient } from '../support/rest-client.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

/*
 * The requests of OpenZeppelin Relayer's public client for TypeScript, as its generated code sends them: verb, path, query and JSON body of every method
 * but those for plugins, metrics and sponsored transactions. `updateSigner` is refused, as OpenZeppelin Relayer always does.
 */

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const page = '?page=1&per_page=10';

describe('requests of the public client', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  const rest: RestClient = restClient(() => service.baseUrl);

  before(async () => {
    anvil = await startAnvil({ blockTime: 1 });
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, '0xde0b6b3a7640000']);
    service = await startService(home);
  });
  after(async () => {
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  /** Calls as the client does, and checks the envelope that its callers read. */
  async function call(verb: string, path: string, body?: object, status = 200): Promise<RestResult['body']> {
    const answer = await rest(verb, path, body);
    assert.equal(answer.status, status, `${verb} ${path}: ${JSON.stringify(answer.body)}`);
    assert.deepEqual([answer.body.success, answer.body.error], [true, null]);
    return answer.body.data;
  }

  function assertKeys(data: object, keys: readonly string[]): void {
    assert.deepEqual(
      keys.filter((key) => !(key in data)),
      [],
    );
  }

  it('HealthApi: health, readiness', async () => {
    const health = await fetch(`${service.baseUrl}/api/v1/health`);
    assert.deepEqual([health.status, await health.text()], [200, 'OK']);
    const { ready } = (await (await fetch(`${service.baseUrl}/api/v1/ready`)).json()) as { ready: boolean };
    assert.equal(ready, true);
  });

  it('NetworksApi: listNetworks, getNetwork, updateNetwork', async () => {
    const all = await call('GET', `/networks${page}`);
    assert.equal(all.length, 10);
    const id = encodeURIComponent('evm:local');
    assertKeys(await call('GET', `/networks/${id}`), ['id', 'name', 'network_type', 'is_testnet', 'chain_id', 'rpc_urls', 'symbol']);
    await call('PATCH', `/networks/${id}`, { rpc_urls: [anvil.url] });
    await call('PATCH', `/networks/${id}`, { rpc_urls: [{ url: anvil.url, weight: 100 }] });
  });

  it('NotificationsApi: createNotification, listNotifications, getNotification, updateNotification, deleteNotification', async () => {
    const keys = ['id', 'url', 'type', 'has_signing_key'];
    const body = { id: 'hook', url: 'https://hooks.example.com/x', type: 'webhook', signing_key: 'a key of thirty-two characters, say' };
    assertKeys(await call('POST', '/notifications', body, 201), keys);
    assert.equal((await call('GET', `/notifications${page}`)).length, 1);
    assertKeys(await call('GET', '/notifications/hook'), keys);
    assert.equal(
      (await call('PATCH', '/notifications/hook', { url: 'https://hooks2.example.com/y' })).url,
      'https://hooks2.example.com/***',
    );
    assert.equal(await call('DELETE', '/notifications/hook'), null);
  });

  it('SignersApi: createSigner, listSigners, getSigner, deleteSigner; updateSigner is refused', async () => {
    const signer = await call('POST', '/signers', { id: 'plain', type: 'plain', config: { key: '02'.repeat(32) } }, 201);
    assert.deepEqual([signer.id, signer.type], ['plain', 'local']);
    assert.equal((await call('GET', `/signers${page}`)).length, 2);
    assert.equal((await call('GET', '/signers/plain')).id, 'plain');
    assert.ok((await rest('PATCH', '/signers/plain', { anything: 1 })).status >= 400);
    await call('DELETE', '/signers/plain');
  });

  it('RelayersApi: createRelayer, listRelayers, getRelayer, updateRelayer, deleteRelayer', async () => {
    await call('POST', '/signers', { id: 'second', type: 'plain', config: { key: '03'.repeat(32) } }, 201);
    const wanted = {
      id: 'second',
      name: 'Second',
      network: 'local',
      network_type: 'evm',
      paused: false,
      signer_id: 'second',
      policies: {
        eip1559_pricing: true,
        gas_price_cap: 100000000000,
        min_balance: 0,
        private_transactions: false,
        whitelist_receivers: [to],
      },
      custom_rpc_urls: [anvil.url],
    };
    const keys = ['id', 'name', 'network', 'network_type', 'paused', 'policies', 'signer_id', 'address', 'system_disabled'];
    const created = await call('POST', '/relayers', wanted, 201);
    assertKeys(created, keys);
    assert.equal(created.policies.gas_price_cap, 100_000_000_000);
    assert.equal((await call('GET', `/relayers${page}`)).length, 2);
    assertKeys(await call('GET', '/relayers/second'), keys);
    const changed = await call('PATCH', '/relayers/second', { paused: true, policies: { min_balance: 5 }, notification_id: null });
    assert.deepEqual([changed.paused, changed.policies.min_balance, changed.policies.gas_price_cap], [true, 5, 100_000_000_000]);
    await call('DELETE', '/relayers/second');
  });

  it('RelayersApi: sendTransaction, listTransactions, getTransactionById, getTransactionByNonce', async () => {
    const sent = await call('POST', '/relayers/r1/transactions', { to, value: 1, data: '0x', gas_limit: 21000, speed: 'fast' });
    assertKeys(sent, ['id', 'relayer_id', 'status', 'created_at', 'from', 'value']);
    assert.equal(sent.value, '1');
    const confirmed = await waitFor('it to be confirmed', async () => {
      const seen = await call('GET', `/relayers/r1/transactions/${sent.id}`);
      return seen.status === 'confirmed' ? seen : undefined;
    });
    // The generated path ends with a slash.
    assert.deepEqual(await call('GET', `/relayers/r1/transactions/${page}`), [confirmed]);
    assert.deepEqual(await call('GET', '/relayers/r1/transactions/by-nonce/0'), confirmed);
  });

  it('RelayersApi: replaceTransaction, cancelTransaction, deletePendingTransactions', async () => {
    await anvil.rpc('evm_setIntervalMining', [0]);
    await anvil.rpc('evm_setAutomine', [false]);
    const send = () => call('POST', '/relayers/r1/transactions', { to, value: 1, gas_limit: 21000, speed: 'average' });
    const { id } = await send();
    await waitFor('it to be submitted', async () =>
      (await call('GET', `/relayers/r1/transactions/${id}`)).status === 'submitted' ? true : undefined,
    );
    const replaced = await call('PUT', `/relayers/r1/transactions/${id}`, { to, value: 2, gas_limit: 21000, speed: 'fast' });
    assert.deepEqual([replaced.id, replaced.value], [id, '2']);
    const canceled = await call('DELETE', `/relayers/r1/transactions/${id}`);
    assert.deepEqual([canceled.id, canceled.is_canceled], [id, true]);
    await send();
    const deleted = await call('DELETE', '/relayers/r1/transactions/pending');
    assertKeys(deleted, ['queued_for_cancellation_transaction_ids', 'failed_to_queue_transaction_ids', 'total_processed']);
    await anvil.rpc('evm_setAutomine', [true]);
    await anvil.mine();
  });

  it('RelayersApi: getRelayerStatus, getRelayerBalance, rpc', async () => {
    const status = await call('GET', '/relayers/r1/status');
    assertKeys(status, ['network_type', 'balance', 'pending_transactions_count', 'system_disabled', 'paused', 'nonce']);
    const balance = await call('GET', '/relayers/r1/balance');
    assert.deepEqual([balance.unit, typeof balance.balance], ['wei', 'number']);

    const asked = await rest('POST', '/relayers/r1/rpc', { jsonrpc: '2.0', method: 'eth_chainId', params: [], id: 7 });
    assert.deepEqual([asked.status, asked.body], [200, { jsonrpc: '2.0', id: 7, result: '0x7a69' }]);
    const text = await rest('POST', '/relayers/r1/rpc', {
      jsonrpc: '2.0',
      method: 'eth_getBalance',
      params: [home.address, 'latest'],
      id: 'a',
    });
    assert.equal(text.body.id, 'a');
    assert.match(text.body.result, /^0x[0-9a-f]+$/);
    const refused = await rest('POST', '/relayers/r1/rpc', { jsonrpc: '2.0', method: 'eth_getBalance', params: ['nonsense'], id: null });
    const { code, message, description } = refused.body.error;
    assert.deepEqual([refused.status, refused.body.id, code, typeof message, description], [200, null, -32602, 'string', message]);
    for (const method of ['eth_sendRawTransaction', 'eth_sign', 'debug_traceTransaction', 'anvil_setBalance']) {
      const { status, body } = await rest('POST', '/relayers/r1/rpc', { jsonrpc: '2.0', method, params: [], id: 1 });
      assert.deepEqual([status, body.id, body.error.code], [200, 1, -32601]);
    }
  });

  it('RelayersApi: sign, signTypedData, signTransaction', async () => {
    assertKeys(await call('POST', '/relayers/r1/sign', { message: 'hello' }), ['r', 's', 'sig', 'v']);
    const hashes = { domain_separator: '11'.repeat(32), hash_struct_message: '22'.repeat(32) };
    assertKeys(await call('POST', '/relayers/r1/sign-typed-data', hashes), ['r', 's', 'sig', 'v']);
    assert.equal((await rest('POST', '/relayers/r1/sign-transaction', { unsigned_xdr: 'AAAA' })).reason, 'FIELD_INVALID');

    const seed = Buffer.alloc(32, 4);
    const key = Keypair.fromRawEd25519Seed(seed);
    await call('POST', '/signers', { id: 'stellar', type: 'plain', config: { key: seed.toString('hex') } }, 201);
    const relayer = { id: 'stellar', name: 'S', network: 'testnet', network_type: 'stellar', paused: false, signer_id: 'stellar' };
    const { address } = await call('POST', '/relayers', { ...relayer, custom_rpc_urls: ['http://127.0.0.1:9'] }, 201);
    assert.equal(address, key.publicKey());
    const unsigned = new TransactionBuilder(new Account(address, '7'), { fee: '100', networkPassphrase: Networks.TESTNET })
      .addOperation(Operation.payment({ destination: address, asset: Asset.native(), amount: '1' }))
      .setTimeout(0)
      .build();
    const signed = await call('POST', '/relayers/stellar/sign-transaction', { unsigned_xdr: unsigned.toXdr() });
    assertKeys(signed, ['signedXdr', 'signature']);
    assert.ok(key.verify(unsigned.hash(), Buffer.from(signed.signature, 'base64')));
    await call('DELETE', '/relayers/stellar');
  });
});
