import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { keyKinds } from '../../../src/app/key-kinds.js';
import type { Curve } from '../../../src/core/records/network.js';
import { type CdpAccount, createCdpProvider } from '../../../src/signers/cdp/provider.js';
import { envelopeOf, signatureAt } from '../../../src/signers/cdp/solana-envelope.js';
import { type HostedRig, hostedKeyContract, openSigner } from '../../contracts/hosted-key.contract.js';
import { requireValid } from '../../contracts/signer.contract.js';
import { addCdpAccount, type FakeCdp, startFakeCdp } from '../../support/fake-cdp.js';
import { type FakeKey, fakeKey } from '../../support/fake-provider.js';
import { fixedSecrets } from '../../support/fixed-secrets.js';

interface Rig extends HostedRig {
  readonly server: FakeCdp;
  readonly configured: CdpAccount;
}

type Test = { after(task: () => unknown): void };

async function start(curve: Curve, test: Test, wanted?: FakeKey): Promise<Rig> {
  const server = await startFakeCdp(test);
  const { key, address } = addCdpAccount(server, curve, wanted);
  const { url: apiBaseUrl, apiKeyId, apiKeySecrets, walletSecret } = server;
  const secrets = { api_key_secret: apiKeySecrets.ed25519, wallet_secret: walletSecret };
  const configured = { apiBaseUrl, apiKeyId, secrets: fixedSecrets(secrets), address };
  const moveAlias: Rig['moveAlias'] = (other) => server.accounts.set(curve === 'ed25519' ? address : address.toLowerCase(), other);
  return { provider: open(configured, test), server, key, configured, moveAlias };
}

function open(account: CdpAccount, test: Test) {
  const provider = createCdpProvider(account, keyKinds.cdp.limits);
  test.after(() => provider.close());
  return provider;
}

const soon = () => AbortSignal.timeout(60_000);

function textOf(bytes: number): Uint8Array {
  return Buffer.from(randomBytes(bytes).toString('hex').slice(0, bytes));
}

/** A message of a Solana transaction that these accounts must sign, legacy or of version 0. */
function solanaMessage(signers: readonly FakeKey[], version: 'legacy' | 0): Buffer {
  const accounts = [...signers.map(({ publicKey }) => publicKey.bytes), randomBytes(32)];
  const instruction = Buffer.from([1, signers.length, 1, 0, 4, 1, 2, 3, 4]);
  const start = version === 0 ? [0x80] : [];
  const end = version === 0 ? [Buffer.of(0)] : [];
  return Buffer.concat([Buffer.from([...start, signers.length, 0, 1, accounts.length]), ...accounts, randomBytes(32), instruction, ...end]);
}

hostedKeyContract({
  kind: 'cdp',
  curves: ['secp256k1', 'ed25519'],
  messageOf: textOf,
  start,
  throttled: { status: 429, body: { errorType: 'rate_limit_exceeded', errorMessage: 'Rate limit exceeded. Please try again later.' } },
  refused: { status: 403, body: { errorType: 'policy_violation', errorMessage: 'The request violates a policy.' } },
  secrets: ({ server }) => {
    const { apiKeySecrets, walletSecret } = server as FakeCdp;
    return [apiKeySecrets.ed25519, walletSecret];
  },
});

describe('CDP', () => {
  it('API key: Ed25519 in base64 and P-256 in PEM work, also with escaped line breaks', async (test) => {
    const { configured, server } = await start('secp256k1', test);
    const { p256 } = server.apiKeySecrets;
    for (const api_key_secret of [p256, p256.replaceAll('\n', '\\n')]) {
      const secrets = fixedSecrets({ ...configured.secrets.now(), api_key_secret });
      await requireValid(await openSigner(open({ ...configured, secrets }, test), test), randomBytes(32));
    }
  });

  it('secrets: texts that are no keys are refused by the name of their field, and not quoted', async (test) => {
    const { configured, server } = await start('secp256k1', test);
    const right = configured.secrets.now();
    const halves = Buffer.from(right.api_key_secret, 'base64');
    const changed = Buffer.concat([halves.subarray(0, 32), randomBytes(32)]).toString('base64');
    const before = server.asked('');
    for (const api_key_secret of ['hunter2', changed, '-----BEGIN EC PRIVATE KEY-----\nhunter2', randomBytes(32).toString('base64')])
      await assert.rejects(open({ ...configured, secrets: fixedSecrets({ ...right, api_key_secret }) }, test).publicKey(soon()), {
        problem: 'refused',
        message: 'api_key_secret must be base64 of an Ed25519 key (64 bytes), or the PEM text of a P-256 key',
      });
    for (const wallet_secret of ['hunter2', right.api_key_secret])
      await assert.rejects(open({ ...configured, secrets: fixedSecrets({ ...right, wallet_secret }) }, test).publicKey(soon()), {
        problem: 'refused',
        message: 'wallet_secret must be base64 of a P-256 key in the form of PKCS #8',
      });
    assert.equal(server.asked(''), before, 'nothing is sent');
  });

  it('secrets: those of another project are refused', async (test) => {
    const { configured, server } = await start('secp256k1', test);
    const other = await startFakeCdp(test);
    const right = configured.secrets.now();
    for (const change of [
      { secrets: fixedSecrets({ ...right, api_key_secret: other.apiKeySecrets.ed25519 }) },
      { secrets: fixedSecrets({ ...right, wallet_secret: other.walletSecret }) },
      { apiKeyId: other.apiKeyId },
    ])
      await assert.rejects(open({ ...configured, ...change }, test).publicKey(soon()), { problem: 'refused', message: /^HTTP 401: / });
    server.isRevoked = true;
    await assert.rejects(open(configured, test).publicKey(soon()), { problem: 'refused', message: /^HTTP 401: / });
  });

  it('tokens: no error quotes one, even if CDP does', async (test) => {
    const { provider, server } = await start('secp256k1', test);
    server.intercept = ({ headers }, response) => {
      response.writeHead(403).end(`${headers.authorization} ${headers['x-wallet-auth']}`);
      return true;
    };
    const error = String(await provider.sign(randomBytes(32), soon()).catch((one: unknown) => one));
    assert.equal(error, 'ProviderError: HTTP 403: Bearer *** ***');
    assert.equal(server.tokens.length, 2);
  });

  it('EVM: the first signature proves the address, in any case of its letters', async (test) => {
    const { configured, server, key } = await start('secp256k1', test);
    for (const address of [configured.address, configured.address.toLowerCase()]) {
      const { bytes } = await open({ ...configured, address }, test).publicKey(soon());
      assert.deepEqual(Buffer.from(bytes), Buffer.from(key.publicKey.bytes));
    }
    server.accounts.set(configured.address.toLowerCase(), fakeKey('secp256k1'));
    await assert.rejects(open(configured, test).publicKey(soon()), {
      problem: 'refused',
      message: `account_address ${configured.address} is not the address of the key that signs`,
    });
    server.accounts.clear();
    await assert.rejects(open(configured, test).publicKey(soon()), { problem: 'refused', message: /^HTTP 404: / });
  });

  it('Solana: signs legacy and versioned transactions at the place of the account, by whole transactions', async (test) => {
    const { provider, server, key } = await start('ed25519', test);
    const signer = await openSigner(provider, test);
    const other = fakeKey('ed25519');
    for (const version of ['legacy', 0] as const)
      for (const signers of [[key], [key, other], [other, key]]) await requireValid(signer, solanaMessage(signers, version));
    assert.equal(server.asked('/sign/transaction'), 6);
    assert.equal(server.asked('/sign/message'), 0);
  });

  it('Solana: a transaction that comes back changed, without our signature or with another one is not used', async (test) => {
    const { provider, server, key, configured } = await start('ed25519', test);
    const message = solanaMessage([key], 0);
    const changed = solanaMessage([key], 0);
    for (const [signature, sent] of [
      [Buffer.alloc(64), message],
      [key.sign(changed), changed],
      [fakeKey('ed25519').sign(message), message],
    ] as const) {
      server.intercept = null;
      const signer = await openSigner(open(configured, test), test);
      server.intercept = (_, response) => {
        response
          .writeHead(200)
          .end(JSON.stringify({ signedTransaction: Buffer.concat([Buffer.of(1), signature, sent]).toString('base64') }));
        return true;
      };
      await assert.rejects(requireValid(signer, message), {
        message: /CDP returned a signature that is not valid for the key of this signer$/,
      });
    }
    for (const signedTransaction of ['', 'AA==', Buffer.of(1, 2, 3).toString('base64'), 7]) {
      server.intercept = (_, response) => {
        response.writeHead(200).end(JSON.stringify({ signedTransaction }));
        return true;
      };
      await assert.rejects(provider.sign(message, soon()), { problem: 'unreachable', message: 'the answer has no signature' });
    }
  });

  it('Solana: bytes that are neither a transaction of the account nor a text are refused', async (test) => {
    const { provider, server } = await start('ed25519', test);
    await assert.rejects(provider.sign(Buffer.of(0xff, 0xfe), soon()), { problem: 'refused', message: /these bytes are neither$/ });
    await assert.rejects(provider.sign(solanaMessage([fakeKey('ed25519')], 0), soon()), { problem: 'refused' });
    assert.equal(server.asked(''), 0);
  });

  it('Solana: an envelope is made only of a message whose signers contain the account', () => {
    const [own, other] = [fakeKey('ed25519'), fakeKey('ed25519')];
    const account = own.publicKey.bytes;
    const message = solanaMessage([other, own], 0);
    assert.equal(envelopeOf(message, account)?.index, 1);
    for (const length of [0, 1, 4, 5, 40, 68]) assert.equal(envelopeOf(message.subarray(0, length), account), null);
    assert.equal(envelopeOf(Buffer.alloc(200, 0xff), account), null);
    assert.equal(envelopeOf(Buffer.concat([Buffer.of(0, 0, 0, 1), account]), account), null, 'nobody signs');
    assert.equal(signatureAt(Buffer.of(1), 0), null);
    assert.equal(signatureAt(Buffer.concat([Buffer.of(1), Buffer.alloc(128)]), 1), null);
  });
});
