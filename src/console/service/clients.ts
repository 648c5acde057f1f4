import { createClient, type Interceptor } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { ApiKeyService } from '../../../gen/relayer/v1/api_key_service_pb.js';
import { InstanceService } from '../../../gen/relayer/v1/instance_service_pb.js';
import { NetworkService } from '../../../gen/relayer/v1/network_service_pb.js';
import { NotificationService } from '../../../gen/relayer/v1/notification_service_pb.js';
import { OverviewService } from '../../../gen/relayer/v1/overview_service_pb.js';
import { RelayerService } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { SignerService } from '../../../gen/relayer/v1/signer_service_pb.js';
import { SigningService } from '../../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { isKeyRejected } from '../model/failure.js';
import { endRejectedSession, sessionToken } from './session.js';

/** How long a call that is no stream may take. Longer than the service waits for a slow RPC node or signer. */
const callTimeoutMs = 30_000;

/** Sends the API key in the header, and ends the session if the service rejects it. */
const authorize: Interceptor = (next) => async (request) => {
  const token = sessionToken();
  if (token !== null) request.header.set('authorization', `Bearer ${token}`);
  try {
    return await next(request);
  } catch (error) {
    // The answer to a call of an earlier session says nothing about this one.
    if (isKeyRejected(error) && sessionToken() === token) endRejectedSession();
    throw error;
  }
};

/** The one connection to the service that served this page. */
const transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  interceptors: [authorize],
  // Neither cookies nor a referrer belong in these calls.
  fetch: (input, init) => fetch(input, { ...init, credentials: 'omit', referrerPolicy: 'no-referrer', cache: 'no-store' }),
});

/** The options of a call that is no stream. */
export const once = { timeoutMs: callTimeoutMs };

export const apiKeys = createClient(ApiKeyService, transport);
export const instances = createClient(InstanceService, transport);
export const networks = createClient(NetworkService, transport);
export const notifications = createClient(NotificationService, transport);
export const overviews = createClient(OverviewService, transport);
export const relayers = createClient(RelayerService, transport);
export const signers = createClient(SignerService, transport);
export const signing = createClient(SigningService, transport);
export const transactions = createClient(TransactionService, transport);

/** Returns a new key that makes a call safe to repeat. */
export function newIdempotencyKey(): string {
  // Not randomUUID: browsers have it only on secure origins, and a service on a private network may be reached over plain HTTP.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
