import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { rest } from '../support/callers.js';
import { addAzureKey, azureVariablesOf, startFakeAzure } from '../support/fake-azure.js';
import { addCdpAccount, startFakeCdp } from '../support/fake-cdp.js';
import { addGoogleKey, googleSignerOf, startFakeGoogleKms } from '../support/fake-google-kms.js';
import { startFakeVault, transitSignerOf } from '../support/fake-vault.js';
import { createServiceHome } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { noSoftHsm, softHsm } from '../support/soft-hsm.js';
import { waitFor } from '../support/wait-for.js';

type Test = { after(task: () => unknown): void };

/** A signer, one of whose secrets is in a file, and how its provider changes. */
interface Kind {
  readonly config: object;
  /** The field of the secret in the file, and what is below it. */
  readonly field: readonly string[];
  /** What the provider accepts now. */
  readonly secret: () => string;
  /** Lets the provider accept another secret only, and ends what was begun with the old one. `untilRefused` waits until the signer does not sign. */
  readonly change: (untilRefused: () => Promise<unknown>) => Promise<void> | void;
  readonly env?: Readonly<Record<string, string>>;
}

const kinds: Record<string, (test: Test) => Promise<Kind>> = {
  async vault_transit(test) {
    const vault = await startFakeVault(test);
    const { config } = transitSignerOf(vault, 'app');
    const change = () => {
      vault.secretId = randomBytes(16).toString('hex');
      vault.revokeTokens();
    };
    return { config, field: ['secret_id'], secret: () => vault.secretId, change };
  },
  async azure_key_vault(test) {
    const azure = await startFakeAzure(test);
    addAzureKey(azure, 'relayer');
    const { tenantId: tenant_id, clientId: client_id, url: vault_url } = azure;
    const change = () => {
      azure.clientSecret = randomBytes(16).toString('hex');
      // The signer goes on with the version of the key that it began with.
      addAzureKey(azure, 'relayer');
      azure.revokeTokens();
    };
    const config = { tenant_id, client_id, vault_url, key_name: 'relayer' };
    return { config, field: ['client_secret'], secret: () => azure.clientSecret, change, env: azureVariablesOf(azure) };
  },
  async google_cloud_kms(test) {
    const google = await startFakeGoogleKms(test);
    addGoogleKey(google, 'secp256k1');
    const change = () => {
      google.privateKeyId = randomBytes(16).toString('hex');
      google.revokeTokens();
    };
    const field = ['service_account', 'private_key_id'];
    return { config: googleSignerOf(google).config, field, secret: () => google.privateKeyId, change };
  },
  async cdp(test) {
    const cdp = await startFakeCdp(test);
    const account_address = addCdpAccount(cdp, 'secp256k1').address;
    const api_key_secret = { type: 'plain', value: cdp.apiKeySecrets.ed25519 };
    const config = { api_key_id: cdp.apiKeyId, account_address, api_base_url: cdp.url, api_key_secret };
    return { config, field: ['wallet_secret'], secret: () => cdp.walletSecret, change: () => cdp.replaceWalletSecret() };
  },
};

if (noSoftHsm === undefined)
  kinds.pkcs11 = async (test) => {
    const hsm = await softHsm();
    let { pin } = hsm;
    const change: Kind['change'] = async (untilRefused) => {
      const old = pin;
      pin = '70315264';
      hsm.changePin(old, pin);
      // A token that was away needs another login.
      await hsm.remove();
      await untilRefused();
      await hsm.insert();
    };
    test.after(() => hsm.changePin(pin, hsm.pin));
    return { config: hsm.configOf('secp256k1'), field: ['pin'], secret: () => pin, change };
  };

/** Returns the configuration with a reference to the file at this field. */
function withFile(config: object, [name = '', ...rest]: readonly string[], file: string): object {
  const inner = (config as Record<string, object>)[name] ?? {};
  return { ...config, [name]: rest.length === 0 ? { type: 'file', value: file } : withFile(inner, rest, file) };
}

/** Replaces the file as Kubernetes does: at once. */
async function write(file: string, secret: string): Promise<void> {
  await writeFile(`${file}.new`, `${secret}\n`);
  await rename(`${file}.new`, file);
}

describe('a secret in a file', () => {
  for (const [type, kindFor] of Object.entries(kinds))
    it(`${type}: a change of the secret is followed without a restart, once the file has it`, async (test) => {
      const kind = await kindFor(test);
      const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env: kind.env ?? {} });
      test.after(() => home.remove());
      const secretFile = join(home.dir, 'the-secret');
      const old = kind.secret();
      await write(secretFile, old);
      const file = join(home.dir, 'config.json');
      const content = JSON.parse(await readFile(file, 'utf8'));
      content.signers.push({ id: 'hosted', type, config: withFile(kind.config, kind.field, secretFile) });
      await writeFile(file, JSON.stringify(content));
      const service = await startServiceHere(home);
      test.after(() => service.stop());
      const tested = () => rest(service.baseUrl, 'POST', '/signers/hosted/test');
      const first = await tested();
      assert.equal(first.status, 200, first.text);

      const untilRefused = () => waitFor('a refusal', async () => ((await tested()).status === 503 ? true : undefined));
      await kind.change(untilRefused);
      await untilRefused();
      await write(secretFile, kind.secret());
      const again = await waitFor('a signature with the new secret', async () => {
        const answer = await tested();
        return answer.status === 200 ? answer : undefined;
      });
      const { milliseconds: _, ...signed } = again.body.data;
      const { milliseconds: __, ...before } = first.body.data;
      assert.deepEqual(signed, before, 'it is the same key');
      for (const secret of [old, kind.secret()]) assert.ok(!service.output().includes(secret), 'no secret is logged');
    });
});
