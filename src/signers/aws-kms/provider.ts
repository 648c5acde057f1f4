import { GetPublicKeyCommand, KMSClient, SignCommand } from '@aws-sdk/client-kms';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import type { Curve } from '../../core/records/network.js';
import { outsideText } from '../../core/text/safe-text.js';
import { withoutSecrets } from '../../core/text/without-secrets.js';
import { type KeyProvider, ProviderError, type ProviderLimits, type ProviderProblem } from '../hosted/key-provider.js';
import { publicKeyFromSpki } from '../hosted/spki.js';

/** A key of AWS KMS. */
export interface AwsKey {
  readonly region: string;
  /** The id, the ARN, the name of an alias or its ARN. */
  readonly keyId: string;
}

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

const name = 'AWS KMS';
const connectMs = 3_000;
const answerMs = 10_000;
/** Texts of credentials that are masked in errors: three for each set. */
const maxRecent = 24;
/** The part of an error's message that the log gets. */
const shownCharacters = 300;

/** KMS signs the digest itself with secp256k1, and the whole message with ed25519. */
const forms = {
  secp256k1: { SigningAlgorithm: 'ECDSA_SHA_256', MessageType: 'DIGEST' },
  ed25519: { SigningAlgorithm: 'ED25519_SHA_512', MessageType: 'RAW' },
} as const;

/** Other errors that say that a call may be made again; those of the class `server` are known by their status. */
const throttling = new Set(['ThrottlingException', 'TooManyRequestsException', 'RequestLimitExceeded', 'Throttling']);
/** The client reads credentials again after these: a file or a variable may have new ones. */
const credentialErrors = new Set([
  'ExpiredTokenException',
  'ExpiredToken',
  'UnrecognizedClientException',
  'InvalidClientTokenId',
  'InvalidSignatureException',
]);

/** Makes the provider of a key of AWS KMS. The SDK finds the credentials as in every AWS tool, and renews credentials that expire. */
export function createAwsKmsProvider({ region, keyId }: AwsKey, limits: ProviderLimits): KeyProvider {
  const recent: (string | undefined)[] = [];
  let client = connect(region, limits, noteCredentials);
  let curve: Curve | null = null;

  /** A session may be replaced while a call is under way, whose answer quotes the earlier one. */
  function noteCredentials({ secretAccessKey, sessionToken, accessKeyId }: Credentials): void {
    const found = [secretAccessKey, sessionToken, accessKeyId].filter((text) => !recent.includes(text));
    recent.unshift(...found);
    recent.splice(maxRecent);
  }

  /**
   * Makes a call, and makes it again with the credentials that are there now if KMS rejects the client's credentials. Throws
   * `ProviderError`.
   */
  async function call<T>(work: (client: KMSClient) => Promise<T>): Promise<T> {
    for (let isSecond = false; ; isSecond = true) {
      const used = client;
      try {
        return await work(used);
      } catch (error) {
        const problem = problemFrom(error, recent);
        if (!credentialErrors.has(nameOf(error))) throw problem;
        if (client === used) {
          client = connect(region, limits, noteCredentials);
          // Ends its calls, which have the same credentials.
          used.destroy();
        }
        if (isSecond) throw problem;
      }
    }
  }

  async function readKey(abortSignal: AbortSignal) {
    const { PublicKey, KeyUsage } = await call((kms) => kms.send(new GetPublicKeyCommand({ KeyId: keyId }), { abortSignal }));
    if (PublicKey === undefined) throw new ProviderError('unreachable', 'the answer has no public key');
    if (KeyUsage !== 'SIGN_VERIFY') throw new ProviderError('refused', `the key usage is ${KeyUsage}; must be SIGN_VERIFY`);
    const key = publicKeyFromSpki(PublicKey);
    curve = key.curve;
    return key;
  }

  return {
    name,
    account: `aws_kms ${region}`,
    limits,
    form: 'der',
    publicKey: readKey,
    async sign(bytes, abortSignal) {
      // Unknown after a start without AWS.
      curve ??= (await readKey(abortSignal)).curve;
      const input = { KeyId: keyId, Message: bytes, ...forms[curve] };
      const { Signature } = await call((kms) => kms.send(new SignCommand(input), { abortSignal }));
      if (Signature === undefined) throw new ProviderError('unreachable', 'the answer has no signature');
      return Signature;
    },
    close: async () => client.destroy(),
  };
}

/** The caller repeats failed calls, not the SDK, so that the limits and the deadline hold. */
function connect(region: string, { parallel }: ProviderLimits, note: (credentials: Credentials) => void): KMSClient {
  return new KMSClient({
    region,
    maxAttempts: 1,
    // A shared file of credentials may have changed since another client read it.
    credentialDefaultProvider: (input) => {
      const find = defaultProvider({ ...input, ignoreCache: true });
      return async (...parts) => {
        const found = await find(...parts);
        note(found);
        return found;
      };
    },
    requestHandler: {
      connectionTimeout: connectMs,
      requestTimeout: answerMs,
      throwOnRequestTimeout: true,
      httpAgent: { maxSockets: parallel },
      httpsAgent: { maxSockets: parallel },
    },
  });
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

/** Only the first line of a message is used: after it, KMS quotes the request, with the session token. */
function problemFrom(error: unknown, secrets: readonly (string | undefined)[]): ProviderError {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  const text = `${nameOf(error)}: ${withoutSecrets(line, secrets)}`;
  return new ProviderError(kindOf(error), outsideText(text.slice(0, shownCharacters)));
}

function kindOf(error: unknown): ProviderProblem {
  const status = statusOf(error);
  if (throttling.has(nameOf(error)) || status === 429) return 'throttled';
  // Without a status there was no answer of KMS: the network fails, or the source of the credentials.
  return status === undefined || status >= 500 || status < 300 ? 'unreachable' : 'refused';
}

function statusOf(error: unknown): number | undefined {
  const metadata = typeof error === 'object' && error !== null && '$metadata' in error ? error.$metadata : undefined;
  if (typeof metadata !== 'object' || metadata === null || !('httpStatusCode' in metadata)) return undefined;
  return typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : undefined;
}
