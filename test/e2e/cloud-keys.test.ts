import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { computeAddress, verifyMessage } from 'ethers';
import { addressFromPublicKey as solanaAddressFrom } from '../../src/chains/solana/address.js';
import { addressFromPublicKey as stellarAddressFrom } from '../../src/chains/stellar/address.js';
import { rest } from '../support/callers.js';
import { clouds } from '../support/cloud-keys.js';
import type { FakeKey } from '../support/fake-provider.js';
import { createEd25519Home, createServiceHome, type ServiceHome } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { waitFor } from '../support/wait-for.js';

/** Lets the relayer of a home use this signer. */
async function useSigner({ dir }: ServiceHome, type: string, config: object): Promise<void> {
  const file = join(dir, 'config.json');
  const content = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...content, signers: [{ id: 's1', type, config }] }));
}

function identityOf({ publicKey }: FakeKey, network: 'stellar' | 'solana'): { readonly address: string; readonly shown: object } {
  const hex = Buffer.from(publicKey.bytes).toString('hex');
  const addressFrom = network === 'stellar' ? stellarAddressFrom : solanaAddressFrom;
  if (publicKey.curve === 'ed25519') return { address: addressFrom(publicKey.bytes), shown: { public_key: hex } };
  const address = computeAddress(`0x${hex}`);
  return { address, shown: { evm_address: address } };
}

/** Starts and stops a service with a key of this kind, which pins the key. Returns its home. */
async function startedOnce(type: string, add: (typeof clouds)[string]['add'], test: TestContext) {
  const { config, move, server, env = {} } = await add('secp256k1', test);
  const made = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => made.remove());
  await useSigner(made, type, config);
  const home = { ...made, env: { ...made.env, ...env } };
  await (await startServiceHere(home)).stop();
  return { home, move, server };
}

describe('keys in clouds in the service', () => {
  for (const [type, { curves, add }] of Object.entries(clouds))
    for (const curve of curves)
      it(`${type}: a relayer has the account of its ${curve} key; the signer is shown without credentials, and created over the API`, async (test) => {
        const { key, config, shown, bare, secrets, env = {} } = await add(curve, test);
        const network = type === 'cdp' ? 'solana' : 'stellar';
        const networkFields = network === 'stellar' ? { passphrase: 'Local' } : {};
        const home =
          curve === 'secp256k1'
            ? await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' })
            : await createEd25519Home({ network, rpcUrls: ['http://127.0.0.1:9'], networkFields });
        test.after(() => home.remove());
        await useSigner(home, type, config);
        const service = await startServiceHere({ ...home, env: { ...home.env, ...env } });
        test.after(() => service.stop());
        const { address, shown: identity } = identityOf(key, network);
        assert.equal((await rest(service.baseUrl, 'GET', '/relayers/r1')).body.data.address, address);
        assert.deepEqual((await rest(service.baseUrl, 'GET', '/signers/s1')).body.data, {
          id: 's1',
          type,
          config: { ...identity, ...shown },
        });
        if (curve === 'secp256k1') {
          const { body } = await rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message: 'hello' });
          assert.equal(verifyMessage('hello', `0x${body.data.sig}`), address);
        }
        const tested = await rest(service.baseUrl, 'POST', '/signers/s1/test');
        assert.deepEqual([tested.status, tested.body.data], [200, { ...identity, milliseconds: tested.body.data.milliseconds }]);
        const created = await rest(service.baseUrl, 'POST', '/signers', { id: 'other', type, config: bare });
        assert.deepEqual([created.status, created.body.data], [201, { id: 'other', type, config: { ...identity, ...shown } }]);
        for (const secret of secrets) {
          assert.ok(!service.output().includes(secret), 'no credential is logged');
          assert.ok(!JSON.stringify(created.body).includes(secret), 'no credential is returned');
        }
      });

  for (const [type, { add }] of Object.entries(clouds)) {
    it(`${type}: a key that was rotated while service and provider were away: no signature of the new key is used`, async (test) => {
      const { home, move, server } = await startedOnce(type, add, test);
      server.intercept = (_, response) => {
        response.destroy();
        return true;
      };
      const service = await startServiceHere(home);
      test.after(() => service.stop());
      move();
      server.intercept = null;
      const signed = () => rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message: 'hello' });
      await waitFor('the signer to be called', async () => {
        const { status } = await signed();
        assert.equal(status, 503, 'nothing is signed');
        return /returned a signature that is not valid/.test(service.output()) ? true : undefined;
      });
    });
  }

  it('cdp: CreateRelayer refuses a Stellar relayer with an account of CDP, and says why', async (test) => {
    const { bare } = (await clouds.cdp?.add('ed25519', test)) ?? assert.fail();
    const home = await createEd25519Home({ network: 'stellar', rpcUrls: ['http://127.0.0.1:9'], networkFields: { passphrase: 'Local' } });
    test.after(() => home.remove());
    const service = await startServiceHere(home);
    test.after(() => service.stop());
    assert.equal((await rest(service.baseUrl, 'POST', '/signers', { id: 'cdp', type: 'cdp', config: bare })).status, 201);
    const relayer = {
      id: 'r2',
      name: 'Two',
      network: 'local',
      network_type: 'stellar',
      signer_id: 'cdp',
      policies: { fee_payment_strategy: 'relayer' },
    };
    const { status, body } = await rest(service.baseUrl, 'POST', '/relayers', relayer);
    const why = 'a key of type cdp cannot sign for stellar networks, because CDP has no Stellar accounts; use another type of signer';
    assert.deepEqual([status, body.error], [400, `signer_id must be a signer for stellar networks: ${why}`]);
  });
});
