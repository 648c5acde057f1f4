import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { keyKinds } from '../../../src/app/key-kinds.js';
import type { Curve } from '../../../src/core/records/network.js';
import { createAwsKmsProvider } from '../../../src/signers/aws-kms/provider.js';
import { type HostedRig, hostedKeyContract, openSigner } from '../../contracts/hosted-key.contract.js';
import { requireValid } from '../../contracts/signer.contract.js';
import {
  type AwsCredentials,
  addAwsKey,
  awsVariablesOf,
  type FakeAwsKms,
  startFakeAwsKms,
  useAwsEnvironment,
} from '../../support/fake-aws-kms.js';
import type { FakeKey } from '../../support/fake-provider.js';
import { startHttpReceiver } from '../../support/http-receiver.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

interface Rig extends HostedRig {
  readonly server: FakeAwsKms;
}

async function start(curve: Curve, test: { after(task: () => unknown): void }, wanted?: FakeKey): Promise<Rig> {
  const kms = await startFakeAwsKms(test);
  useAwsEnvironment(test, awsVariablesOf(kms));
  const key = addAwsKey(kms, 'alias/relayer', curve, wanted);
  const provider = createAwsKmsProvider({ region: kms.region, keyId: 'alias/relayer' }, keyKinds.aws_kms.limits);
  test.after(() => provider.close());
  return { provider, server: kms, key, moveAlias: (other) => kms.keys.set('alias/relayer', other) };
}

const soon = () => AbortSignal.timeout(60_000);
const refusesToSign = { reason: 'SIGNER_UNAVAILABLE', message: 'signer s cannot sign now: AWS KMS refuses to sign with this key' };

hostedKeyContract({
  kind: 'aws_kms',
  curves: ['secp256k1', 'ed25519'],
  start,
  throttled: { status: 400, body: { __type: 'ThrottlingException', message: 'You have exceeded the rate at which you may call KMS.' } },
  refused: { status: 400, body: { __type: 'AccessDeniedException', message: 'not authorized to perform: kms:Sign' } },
  secrets: ({ server }) => Object.values((server as FakeAwsKms).credentials),
});

describe('AWS KMS', () => {
  it('a key that no network can use, of another usage, or that does not exist is refused with the reason', async (test) => {
    const { provider, server } = await start('secp256k1', test);
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const p256 = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
    for (const [body, message] of [
      [
        { KeyUsage: 'SIGN_VERIFY', PublicKey: p256 },
        /^the key is of type prime256v1; must be secp256k1 for EVM networks, or ed25519 for Stellar and Solana$/,
      ],
      [{ KeyUsage: 'KEY_AGREEMENT', PublicKey: p256 }, /^the key usage is KEY_AGREEMENT; must be SIGN_VERIFY$/],
    ] as const) {
      server.intercept = (_, response) => {
        response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
        return true;
      };
      await assert.rejects(provider.publicKey(soon()), { name: 'ProviderError', message });
    }
    server.intercept = null;
    server.keys.clear();
    await assert.rejects(provider.publicKey(soon()), {
      problem: 'refused',
      message: "NotFoundException: Key 'alias/relayer' does not exist",
    });
  });

  it('credentials: wrong ones and expired ones are refused, and new ones in the environment are used without a restart', async (test) => {
    const { server, provider } = await start('secp256k1', test);
    const signer = await openSigner(provider, test);
    server.isExpired = true;
    await assert.rejects(requireValid(signer, randomBytes(32)), refusesToSign);
    server.isExpired = false;
    server.credentials = { accessKeyId: 'AKIAOTHER', secretAccessKey: 'other-secret', sessionToken: 'other-token' };
    await assert.rejects(provider.sign(randomBytes(32), soon()), {
      problem: 'refused',
      message: 'UnrecognizedClientException: The security token included in the request is invalid.',
    });
    Object.assign(process.env, awsVariablesOf(server));
    await provider.sign(randomBytes(32), soon());
  });

  it('credentials: a wrong secret key is refused, since the signature of the request does not match', async (test) => {
    const { server, provider } = await start('secp256k1', test);
    process.env.AWS_SECRET_ACCESS_KEY = 'not-the-secret';
    await assert.rejects(provider.publicKey(soon()), {
      problem: 'refused',
      message: 'InvalidSignatureException: The request signature does not match.',
    });
    Object.assign(process.env, awsVariablesOf(server));
    await provider.publicKey(soon());
  });

  it('credentials: those of a shared file that is rewritten are used within the same signature', async (test) => {
    const { server } = await start('secp256k1', test);
    const file = join(await temporaryFolder({}), 'credentials');
    useAwsEnvironment(test, { AWS_ENDPOINT_URL_KMS: server.url, AWS_SHARED_CREDENTIALS_FILE: file });
    await writeFile(file, credentialsFile(server.credentials));
    const provider = createAwsKmsProvider({ region: server.region, keyId: 'alias/relayer' }, keyKinds.aws_kms.limits);
    test.after(() => provider.close());
    await provider.publicKey(soon());
    server.credentials = { accessKeyId: 'AKIAROTATED', secretAccessKey: 'rotated-secret', sessionToken: 'rotated-token' };
    await writeFile(file, credentialsFile(server.credentials));
    await provider.sign(randomBytes(32), soon());
  });

  it('region: one that would lead to another host is refused before a request, with the session token, leaves', async (test) => {
    const { server } = await start('secp256k1', test);
    delete process.env.AWS_ENDPOINT_URL_KMS;
    const host = server.url.slice('http://'.length);
    for (const region of [`${host}/`, 'a.example.com#', 'x@127.0.0.1', '../x']) {
      const provider = createAwsKmsProvider({ region, keyId: 'alias/relayer' }, keyKinds.aws_kms.limits);
      await assert.rejects(provider.publicKey(soon()), { name: 'ProviderError', message: /[Rr]egion|host label/ }, region);
      await provider.close();
    }
    assert.equal(server.asked('GetPublicKey'), 0);
  });

  it('credentials: a place that has none is an outage, so that a service with a pinned key starts', async (test) => {
    const { server, provider } = await start('secp256k1', test);
    useAwsEnvironment(test, { AWS_ENDPOINT_URL_KMS: server.url });
    await assert.rejects(provider.publicKey(soon()), {
      problem: 'unreachable',
      message: /^CredentialsProviderError: Could not load credentials from any providers/,
    });
  });

  it('credentials: a web identity (IRSA) whose token file and session are replaced is followed', async (test) => {
    const kms = await startFakeAwsKms(test);
    addAwsKey(kms, 'alias/relayer', 'secp256k1');
    const folder = await temporaryFolder({ token: 'first-token' });
    const tokens: string[] = [];
    const sts = await startHttpReceiver(test, (response, { body }) => {
      const form = new URLSearchParams(body.toString());
      tokens.push(`${form.get('Action')} ${form.get('RoleArn')} ${form.get('WebIdentityToken')}`);
      answerWithSession(response, kms.credentials);
    });
    const role = 'arn:aws:iam::111122223333:role/relayer';
    useAwsEnvironment(test, {
      AWS_ENDPOINT_URL_KMS: kms.url,
      AWS_ENDPOINT_URL_STS: sts.url(''),
      AWS_REGION: kms.region,
      AWS_ROLE_ARN: role,
      AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, 'token'),
    });
    const provider = createAwsKmsProvider({ region: kms.region, keyId: 'alias/relayer' }, keyKinds.aws_kms.limits);
    test.after(() => provider.close());
    const signer = await openSigner(provider, test);
    await requireValid(signer, randomBytes(32));
    await writeFile(join(folder, 'token'), 'second-token');
    kms.credentials = { accessKeyId: 'AKIASECOND0123456789', secretAccessKey: 'second/secret', sessionToken: 'second-session' };
    await requireValid(signer, randomBytes(32));
    assert.deepEqual(
      [tokens[0], tokens.at(-1)],
      ['first-token', 'second-token'].map((token) => `AssumeRoleWithWebIdentity ${role} ${token}`),
    );
  });

  it('credentials: no error quotes those of a session that was replaced since its call began', async (test) => {
    const kms = await startFakeAwsKms(test);
    addAwsKey(kms, 'alias/relayer', 'secp256k1');
    const issued: string[] = [];
    const sts = await startHttpReceiver(test, (response) => {
      const sessionToken = `session-${randomBytes(12).toString('hex')}`;
      issued.push(sessionToken);
      kms.credentials = { ...kms.credentials, sessionToken };
      // Over at once, so that each use needs a new one.
      answerWithSession(response, kms.credentials, -1_000);
    });
    useAwsEnvironment(test, {
      AWS_ENDPOINT_URL_KMS: kms.url,
      AWS_ENDPOINT_URL_STS: sts.url(''),
      AWS_REGION: kms.region,
      AWS_ROLE_ARN: 'arn:aws:iam::111122223333:role/relayer',
      AWS_WEB_IDENTITY_TOKEN_FILE: join(await temporaryFolder({ token: 'a-token' }), 'token'),
    });
    const provider = createAwsKmsProvider({ region: kms.region, keyId: 'alias/relayer' }, keyKinds.aws_kms.limits);
    test.after(() => provider.close());
    await provider.publicKey(soon());
    const before = issued.length;
    kms.intercept = ({ headers }, response) => {
      const message = `you sent ${headers['x-amz-security-token']}`;
      response
        .writeHead(400, { 'content-type': 'application/x-amz-json-1.1' })
        .end(JSON.stringify({ __type: 'ValidationException', message }));
      return true;
    };
    await assert.rejects(provider.sign(randomBytes(32), soon()), { message: 'ValidationException: you sent ***' });
    assert.ok(issued.length > before);
  });
});

/** Answers a request for a session. The SDK replaces one that ends within five minutes. */
function answerWithSession(
  response: ServerResponse,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  lifeMs = 60_000,
): void {
  const end = new Date(Date.now() + lifeMs).toISOString();
  const session = `<AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey><SessionToken>${sessionToken}</SessionToken><Expiration>${end}</Expiration>`;
  const result = `<AssumeRoleWithWebIdentityResult><Credentials>${session}</Credentials></AssumeRoleWithWebIdentityResult>`;
  response
    .writeHead(200, { 'content-type': 'text/xml' })
    .end(
      `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">${result}</AssumeRoleWithWebIdentityResponse>`,
    );
}

function credentialsFile({ accessKeyId, secretAccessKey, sessionToken }: AwsCredentials): string {
  return `[default]\naws_access_key_id=${accessKeyId}\naws_secret_access_key=${secretAccessKey}\naws_session_token=${sessionToken}\n`;
}
