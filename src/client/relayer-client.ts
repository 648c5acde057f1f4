import { type Client, Code, ConnectError, createClient, type Interceptor, type Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { ApiKeyService } from '../../gen/relayer/v1/api_key_service_pb.js';
import { AuditService } from '../../gen/relayer/v1/audit_service_pb.js';
import { InstanceService } from '../../gen/relayer/v1/instance_service_pb.js';
import { NetworkService } from '../../gen/relayer/v1/network_service_pb.js';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { OverviewService } from '../../gen/relayer/v1/overview_service_pb.js';
import { PluginService } from '../../gen/relayer/v1/plugin_service_pb.js';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { SignerService } from '../../gen/relayer/v1/signer_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import type { Transaction } from '../../gen/relayer/v1/transaction_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { createRetries } from './retries.js';
import { type TransactionReference, type WaitOptions, waitForTransaction } from './wait-for-transaction.js';

const defaultTimeoutMs = 30_000;
const defaultMaxRetries = 4;

/** The options of a client. */
export interface RelayerClientOptions {
  /** The address of the service. It may end with `/api/v1`, as the address of the REST API does. */
  readonly url: string;
  /** The API key, or a function that returns it for each call. */
  readonly token: string | (() => string | Promise<string>);
  /** How long a call may take, retries included. A stream has no limit. Default 30,000. */
  readonly timeoutMs?: number;
  /** How often a call is repeated that failed without an effect, or that has an idempotency key. 0: never. Default 4. */
  readonly maxRetries?: number;
}

/** The services of the API, and `waitFor`. */
export interface RelayerClient {
  readonly transactions: Client<typeof TransactionService>;
  readonly signing: Client<typeof SigningService>;
  readonly relayers: Client<typeof RelayerService>;
  readonly signers: Client<typeof SignerService>;
  readonly networks: Client<typeof NetworkService>;
  readonly plugins: Client<typeof PluginService>;
  readonly notifications: Client<typeof NotificationService>;
  readonly apiKeys: Client<typeof ApiKeyService>;
  readonly instances: Client<typeof InstanceService>;
  readonly overview: Client<typeof OverviewService>;
  readonly audit: Client<typeof AuditService>;
  /**
   * Waits until a transaction is final, and returns its record: confirmed, failed, expired or canceled. Watches it, and watches again if
   * the connection is lost. Throws what the service answers if a retry does not help, and the signal's reason when it aborts.
   */
  waitFor(transaction: TransactionReference, options?: WaitOptions): Promise<Transaction>;
}

/** Creates a client. It sends nothing until a method is called. */
export function createRelayerClient({
  url,
  token,
  timeoutMs = defaultTimeoutMs,
  maxRetries = defaultMaxRetries,
}: RelayerClientOptions): RelayerClient {
  const authorize: Interceptor = (next) => async (request) => {
    request.header.set('authorization', `Bearer ${typeof token === 'string' ? token : await token()}`);
    return next(request);
  };
  const connect = createConnectTransport({
    baseUrl: url.replace(/\/+$/, '').replace(/\/api\/v1$/, ''),
    useBinaryFormat: true,
    interceptors: [createRetries(maxRetries), authorize],
    fetch: fetchOrUnavailable,
  });
  const transport: Transport = {
    unary: (method, signal, ownTimeoutMs, ...rest) => connect.unary(method, signal, ownTimeoutMs ?? timeoutMs, ...rest),
    stream: (...call) => connect.stream(...call),
  };
  const transactions = createClient(TransactionService, transport);
  return {
    transactions,
    signing: createClient(SigningService, transport),
    relayers: createClient(RelayerService, transport),
    signers: createClient(SignerService, transport),
    networks: createClient(NetworkService, transport),
    plugins: createClient(PluginService, transport),
    notifications: createClient(NotificationService, transport),
    apiKeys: createClient(ApiKeyService, transport),
    instances: createClient(InstanceService, transport),
    overview: createClient(OverviewService, transport),
    audit: createClient(AuditService, transport),
    waitFor: (transaction, options) => waitForTransaction(transactions, transaction, options),
  };
}

/** Calls fetch. A connection that cannot be made is UNAVAILABLE, as in gRPC; fetch throws the same error as for a mistake of the caller. */
async function fetchOrUnavailable(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(input, { ...init, credentials: 'omit' });
  } catch (error) {
    if (init?.signal?.aborted) throw error;
    throw new ConnectError('the service cannot be reached', Code.Unavailable, undefined, undefined, error);
  }
}
