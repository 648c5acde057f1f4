import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { encryptKeystoreJsonSync, Wallet } from 'ethers';
import { rest } from '../support/callers.js';
import { createServiceHome } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';

it('signer change: the service refuses to start while the earlier account has open transactions, and names their number', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  const keystore = join(home.dir, 'keystore.json');
  const original = await readFile(keystore, 'utf8');
  const { address, privateKey } = Wallet.createRandom();
  const another = encryptKeystoreJsonSync({ address, privateKey }, 'pass', { scrypt: { N: 1024, r: 8, p: 1 } });

  const before = await startServiceHere(home);
  for (const value of [1, 2]) {
    const { status } = await rest(before.baseUrl, 'POST', '/relayers/r1/transactions', { to: `0x${'22'.repeat(20)}`, value });
    assert.equal(status, 200);
  }
  await before.stop();

  await writeFile(keystore, another);
  await assert.rejects(startServiceHere(home), {
    name: 'ConfigError',
    message: `relayer r1: the account of its signer has changed, but ${home.address} still has 2 open transactions; restore the signer or the network until they are final, or cancel them`,
  });

  await writeFile(keystore, original);
  const restored = await startServiceHere(home);
  assert.equal((await rest(restored.baseUrl, 'DELETE', '/relayers/r1/transactions/pending')).status, 200);
  await restored.stop();

  await writeFile(keystore, another);
  const changed = await startServiceHere(home);
  const { body } = await rest(changed.baseUrl, 'GET', '/relayers/r1');
  assert.equal(body.data.address, address);
  await changed.stop();
});

it('pause: a paused relayer signs nothing that waits, and its transactions can be canceled', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  const service = await startServiceHere(home);
  test.after(async () => {
    await service.stop();
    await home.remove();
  });
  const path = '/relayers/r1/transactions';
  const ids: string[] = [];
  for (const value of [1, 2]) ids.push((await rest(service.baseUrl, 'POST', path, { to: `0x${'22'.repeat(20)}`, value })).body.data.id);
  assert.equal((await rest(service.baseUrl, 'PATCH', '/relayers/r1', { paused: true })).status, 200);
  const canceled = await rest(service.baseUrl, 'DELETE', `${path}/${ids[0]}`);
  assert.deepEqual([canceled.status, canceled.body.data.status], [200, 'canceled']);
  assert.equal((await rest(service.baseUrl, 'PUT', `${path}/${ids[1]}`, { to: `0x${'22'.repeat(20)}`, value: 3 })).status, 403);
  assert.equal((await rest(service.baseUrl, 'DELETE', `${path}/pending`)).status, 200);
  assert.equal((await rest(service.baseUrl, 'GET', `${path}/${ids[1]}`)).body.data.status, 'canceled');
});
