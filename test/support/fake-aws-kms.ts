import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Curve } from '../../src/core/records/network.js';
import { secp256k1 } from '../../src/crypto/secp256k1.js';
import { type FakeKey, fakeKey, otherS } from './fake-provider.js';
import { type ReceivedRequest, startHttpReceiver } from './http-receiver.js';

/** The credentials of an AWS caller. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/** A server that answers as AWS KMS does, with real keys, and verifies the signature (version 4) of each request. */
export interface FakeAwsKms {
  readonly url: string;
  readonly region: string;
  /** The only credentials that it accepts. */
  credentials: AwsCredentials;
  /** The credentials are the right ones, but too old. */
  isExpired: boolean;
  /** By id or alias. */
  readonly keys: Map<string, FakeKey>;
  /** Answers a request instead of KMS, if it returns true. */
  intercept: ((request: ReceivedRequest, response: ServerResponse) => boolean) | null;
  /** The number of requests of an operation, such as `Sign`. */
  asked(operation: string): number;
}

type Answer = readonly [status: number, body: object];

/** Starts it on a free port; it stops with the test. */
export async function startFakeAwsKms(test: { after(release: () => void): void }): Promise<FakeAwsKms> {
  let signatures = 0;
  const receiver = await startHttpReceiver(test, (response, request) => {
    if (kms.intercept?.(request, response) === true) return;
    const [status, body] = answerTo(request);
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
  });

  function answerTo(request: ReceivedRequest): Answer {
    const refusal = refusalOf(request, kms);
    if (refusal !== null) return refusal;
    const body = JSON.parse(request.body.toString()) as Record<string, string>;
    const key = kms.keys.get(body.KeyId ?? '');
    if (key === undefined) return failure('NotFoundException', `Key '${body.KeyId}' does not exist`);
    if (operationOf(request) === 'GetPublicKey') return publicKey(key);
    return operationOf(request) === 'Sign' ? sign(key, body) : failure('UnknownOperationException', '');
  }

  function sign(key: FakeKey, { Message = '', MessageType, SigningAlgorithm }: Record<string, string>): Answer {
    const { curve } = key.publicKey;
    const [algorithm, type] = curve === 'ed25519' ? ['ED25519_SHA_512', 'RAW'] : ['ECDSA_SHA_256', 'DIGEST'];
    const bytes = Buffer.from(Message, 'base64');
    if (SigningAlgorithm !== algorithm || MessageType !== type)
      return failure('InvalidKeyUsageException', 'the algorithm is not of this key');
    if (bytes.length === 0 || bytes.length > 4_096 || (type === 'DIGEST' && bytes.length !== 32))
      return failure('ValidationException', 'Member must have length less than or equal to 4096');
    signatures += 1;
    const right = key.sign(bytes);
    const answer = curve === 'ed25519' ? right : secp256k1.signatureExport(signatures % 2 === 0 ? right : otherS(right));
    return [200, { KeyId: body(key), Signature: Buffer.from(answer).toString('base64'), SigningAlgorithm }];
  }

  const kms: FakeAwsKms = {
    url: receiver.url(''),
    region: 'eu-central-1',
    credentials: { accessKeyId: 'AKIAFAKE0123456789AB', secretAccessKey: 'fake/secret+access/key', sessionToken: 'fake-session-token' },
    isExpired: false,
    keys: new Map(),
    intercept: null,
    asked: (operation) => receiver.requests.filter((request) => operationOf(request) === operation).length,
  };
  return kms;

  function body(key: FakeKey): string {
    const id = [...kms.keys].find(([, one]) => one === key)?.[0];
    return `arn:aws:kms:${kms.region}:111122223333:key/${id}`;
  }
}

/** Adds a key, and returns it. */
export function addAwsKey(kms: FakeAwsKms, keyId: string, curve: Curve, key = fakeKey(curve)): FakeKey {
  kms.keys.set(keyId, key);
  return key;
}

/** Sets the environment variables that AWS tools read, until the test ends. */
export function useAwsEnvironment(test: { after(task: () => void): void }, variables: Readonly<Record<string, string>>): void {
  const before = { ...process.env };
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  // Neither this machine's files nor its metadata service may answer.
  Object.assign(process.env, {
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    ...variables,
  });
  test.after(() => {
    for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
    for (const [name, value] of Object.entries(before)) if (name.startsWith('AWS_')) process.env[name] = value;
  });
}

/** The variables that lead the AWS SDK to the fake, with its credentials. */
export function awsVariablesOf({ url, credentials }: FakeAwsKms): Readonly<Record<string, string>> {
  return {
    AWS_ENDPOINT_URL_KMS: url,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_SESSION_TOKEN: credentials.sessionToken,
  };
}

function operationOf({ headers }: ReceivedRequest): string {
  return String(headers['x-amz-target']).replace('TrentService.', '');
}

function failure(type: string, message: string): Answer {
  return [400, { __type: type, message }];
}

/** The prefixes of the X.509 form of public keys. */
const spkiPrefix = {
  secp256k1: '3056301006072a8648ce3d020106052b8104000a034200',
  ed25519: '302a300506032b6570032100',
} as const;

/** A public key in the form of X.509. */
export function spkiOf({ publicKey: { curve, bytes } }: FakeKey): Buffer {
  return Buffer.concat([Buffer.from(spkiPrefix[curve], 'hex'), bytes]);
}

function publicKey(key: FakeKey): Answer {
  const KeySpec = key.publicKey.curve === 'ed25519' ? 'ECC_NIST_EDWARDS25519' : 'ECC_SECG_P256K1';
  return [200, { KeySpec, KeyUsage: 'SIGN_VERIFY', PublicKey: spkiOf(key).toString('base64') }];
}

/** Verifies the signature of a request as AWS documents it (Signature Version 4). Returns the refusal; null: it is right. */
function refusalOf({ method, path, headers, body }: ReceivedRequest, { region, credentials, isExpired }: FakeAwsKms): Answer | null {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/([0-9]{8})\/([^/]+)\/kms\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
  const [, id = '', day = '', area = '', names = '', signature = ''] = form.exec(String(headers.authorization)) ?? [];
  const time = String(headers['x-amz-date']);
  if (id !== credentials.accessKeyId || headers['x-amz-security-token'] !== credentials.sessionToken)
    return failure('UnrecognizedClientException', 'The security token included in the request is invalid.');
  const signed = names.split(';');
  for (const needed of ['host', 'x-amz-date', 'x-amz-target', 'x-amz-security-token'])
    if (!signed.includes(needed)) return failure('IncompleteSignatureException', `${needed} must be signed`);
  const lines = signed.map((header) => `${header}:${String(headers[header]).trim()}\n`).join('');
  const canonical = [method, path, '', lines, names, sha256(body)].join('\n');
  const text = ['AWS4-HMAC-SHA256', time, `${day}/${area}/kms/aws4_request`, sha256(Buffer.from(canonical))].join('\n');
  let key: Buffer = Buffer.from(`AWS4${credentials.secretAccessKey}`);
  for (const part of [day, area, 'kms', 'aws4_request']) key = hmac(key, part);
  const isRight = signature !== '' && timingSafeEqual(hmac(key, text), Buffer.from(signature, 'hex'));
  const ageMs = Math.abs(Date.now() - Date.parse(time.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5')));
  if (!isRight || area !== region || !time.startsWith(day) || !(ageMs < 300_000))
    return failure('InvalidSignatureException', `The request signature does not match.\n\nThe Canonical String was\n${canonical}`);
  return isExpired ? failure('ExpiredTokenException', 'The security token included in the request is expired') : null;
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
