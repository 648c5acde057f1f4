import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { computeAddress } from 'ethers';
import { addressFromPublicKey as solanaAddressFrom } from '../../src/chains/solana/address.js';
import { addressFromPublicKey as stellarAddressFrom } from '../../src/chains/stellar/address.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { clouds } from '../support/cloud-keys.js';
import type { FakeKey } from '../support/fake-provider.js';
import { startSolanaService, startStellarService, paymentBody as stellarPayment } from '../support/network-service.js';
import { createServiceHome, type ServiceHome } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { paymentBody as solanaPayment } from '../support/solana-body.js';
import { waitFor } from '../support/wait-for.js';

/*
 * Each kind of key in a cloud, against its fake: a relayer with the key sends over REST, the transaction is confirmed, and the next start is refused if the
 * configuration leads to another key then.
 */

type CloudKey = Awaited<ReturnType<(typeof clouds)[string]['add']>>;

/** Lets the relayer of a home use a key, and returns the home with the variables that the key needs. */
async function withKey(home: ServiceHome, type: string, { config, env = {} }: CloudKey): Promise<ServiceHome> {
  const file = join(home.dir, 'config.json');
  const content = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...content, signers: [{ id: 's1', type, config }] }));
  return { ...home, env: { ...home.env, ...env } };
}

function addressOf({ publicKey }: FakeKey): string {
  return computeAddress(`0x${Buffer.from(publicKey.bytes).toString('hex')}`);
}

/** Why a start is refused after the key was moved. Turnkey and CDP are asked to prove the key that is configured; the others say which key they have. */
function refusalOf(type: string, before: FakeKey, now: FakeKey): string {
  const hex = Buffer.from(before.publicKey.bytes).toString('hex');
  if (type === 'turnkey') return `is refused by Turnkey: public_key ${hex} is not the public key of `;
  if (type === 'cdp') return `is refused by CDP: account_address ${addressOf(before)} is not the address of the key that signs`;
  return `names another key than before: now it is ${addressOf(now)}, but it was ${addressOf(before)}; `;
}

describe('sends with keys in clouds', () => {
  let anvil: Anvil;

  before(async () => {
    anvil = await startAnvil({});
  });
  after(() => anvil?.stop());

  for (const [type, { add }] of Object.entries(clouds))
    it(`${type}: a transaction of an EVM relayer is confirmed; after the key was moved the start is refused, naming both`, async (test) => {
      const cloud = await add('secp256k1', test);
      const home = await withKey(await createServiceHome({ rpcUrl: anvil.url }), type, cloud);
      test.after(() => home.remove());
      await anvil.rpc('anvil_setBalance', [addressOf(cloud.key), '0x56bc75e2d63100000']);
      const service = await startServiceHere(home);
      const receiver = `0x${randomBytes(20).toString('hex')}`;
      const sent = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', { to: receiver, value: 7 });
      assert.equal(sent.status, 200);
      await waitFor('the transaction to be confirmed', async () => {
        const { body } = await rest(service.baseUrl, 'GET', `/relayers/r1/transactions/${sent.body.data.id}`);
        return body.data.status === 'confirmed' ? true : undefined;
      }).finally(() => service.stop());
      assert.equal(BigInt(String(await anvil.rpc('eth_getBalance', [receiver, 'latest']))), 7n);
      const refusal = refusalOf(type, cloud.key, cloud.move());
      await assert.rejects(startServiceHere(home), (error: Error) => {
        assert.equal(error.name, 'ConfigError');
        assert.ok(error.message.startsWith(`signers[0].config: ${refusal}`), error.message);
        return true;
      });
    });

  for (const [type, { curves, add }] of Object.entries(clouds).filter(([, { curves }]) => curves.includes('ed25519'))) {
    it(`${type}: a transaction of a Solana relayer is confirmed by the runtime`, async (test) => {
      assert.ok(curves.includes('ed25519'));
      const cloud = await add('ed25519', test);
      const address = solanaAddressFrom(cloud.key.publicKey.bytes);
      const s = await startSolanaService({ start: async (home) => startServiceHere(await withKey(home, type, cloud)) });
      test.after(() => s.stop());
      await s.solana.faucet(address, 1_000_000_000_000n);
      s.solana.chain.advance(2);
      const { id } = await s.send(solanaPayment(address, s.home.address, 5_000_000n));
      assert.equal((await s.untilWithBlocks(id, 'confirmed')).failure_reason, null);
    });

    if (type !== 'cdp')
      it(`${type}: a transaction of a Stellar relayer is confirmed by the ledger`, async (test) => {
        const cloud = await add('ed25519', test);
        const s = await startStellarService({ start: async (home) => startServiceHere(await withKey(home, type, cloud)) });
        test.after(() => s.stop());
        s.ledger.fund(stellarAddressFrom(cloud.key.publicKey.bytes), 100_000_000_000n);
        const { id } = await s.send(stellarPayment(s.home.address, 5n));
        assert.equal((await s.untilWithBlocks(id, 'confirmed')).failure_reason, null);
      });
  }
});
