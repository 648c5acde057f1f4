import { type ConnectRouter, createClient, type ServiceImpl, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { Health } from '../../gen/grpc/health/v1/health_pb.js';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { createErrorInterceptor } from '../../src/api/contract/errors.js';
import { compileMethodPlans } from '../../src/api/contract/method-plan.js';
import { createReadiness, type Readiness } from '../../src/api/contract/readiness.js';
import { createCallerAddress } from '../../src/api/guards/caller-address.js';
import { createRateLimit } from '../../src/api/guards/rate-limit.js';
import { createWrongKeyBrake } from '../../src/api/guards/wrong-key-brake.js';
import { createHandler } from '../../src/api/handler.js';
import type { ConnectionLimits } from '../../src/api/http/connection-limit.js';
import { createCors } from '../../src/api/http/cors.js';
import { createReadyPage, healthPage } from '../../src/api/http/operator-pages.js';
import { type ApiServer, createServer } from '../../src/api/http/server.js';
import type { ServerTimeouts } from '../../src/api/http/server-limits.js';
import { compileRest, createRestGateway } from '../../src/api/rest/gateway.js';
import { reflectionServices, serveReflection } from '../../src/api/rpc/reflection.js';
import { createHealthService } from '../../src/api/services/health-service.js';
import { createAuthenticate } from '../../src/core/access/authenticate.js';
import type { Principal } from '../../src/core/records/principal.js';
import type { AddressRanges } from '../../src/core/text/address-ranges.js';
import { type Clock, systemClock } from '../../src/core/work/clock.js';
import type { TokenBucketLimits } from '../../src/core/work/token-bucket.js';
import { createSystemState } from '../../src/observability/system-state.js';

/** The bootstrap key of the rig. */
export const testKey = 'test-key-of-at-least-32-characters';
/** A key with no scope but `sign`. */
export const signingKey = 'key-with-the-scope-sign-only-0000';

/** The options of a test. */
export interface RigOptions {
  readonly notifications?: Partial<ServiceImpl<typeof NotificationService>>;
  /** The transaction service is served only if this is set. */
  readonly transactions?: Partial<ServiceImpl<typeof TransactionService>>;
  readonly origins?: readonly string[];
  /** Default: no limit. */
  readonly rateLimit?: TokenBucketLimits;
  /** The clock of the rate limit. */
  readonly clock?: Clock;
  readonly brakesWrongKeys?: boolean;
  readonly trustedProxies?: AddressRanges;
  readonly connectionLimits?: ConnectionLimits;
  readonly timeouts?: ServerTimeouts;
  readonly tls?: { certPem: string; keyPem: string } | null;
  readonly shutdownDeadlineMs?: number;
  readonly port?: number;
  readonly measure?: () => Promise<Readiness>;
}

/** A running server with a tiny service behind it. */
export interface Rig {
  readonly host: string;
  readonly port: number;
  readonly server: ApiServer;
  readonly shutdown: AbortController;
  /** The lines of the log. */
  readonly lines: { level: string; fields: Record<string, unknown>; message: string }[];
  stop(): Promise<void>;
}

/** Timeouts that no test reaches. A test shortens the one that it tests. */
export const patientTimeouts: ServerTimeouts = {
  firstByteMs: 30_000,
  headersMs: 30_000,
  requestMs: 30_000,
  keepAliveMs: 30_000,
  quietSessionMs: 30_000,
  idleSessionMs: 30_000,
  checkEveryMs: 30_000,
};

/** Starts a server on a free port of the loopback address. */
export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const lines: Rig['lines'] = [];
  const write = (level: string) => (fields: object, message: string) => {
    lines.push({ level, fields: fields as Record<string, unknown>, message });
  };
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
  const shutdown = new AbortController();
  const served = [NotificationService, Health, ...reflectionServices];
  const readiness = createReadiness(
    options.measure ?? (async () => ({ ready: true, components: { store: 'ok' }, networks: { local: 'ok' } })),
    {
      clock: systemClock,
      leaving: shutdown.signal,
    },
  );
  const bootstrap = createAuthenticate({
    bootstrap: { apiKey: testKey, apiKeyNext: null },
    keys: { find: () => [] },
    clock: systemClock,
  });
  const signer: Principal = {
    keyId: 'signer',
    name: 'signer',
    scopes: new Set(['sign']),
    relayers: null,
    addresses: null,
    digest: null,
    expiresAtMs: null,
    ended: null,
  };
  const { transactions } = options;
  const plans = compileMethodPlans(transactions === undefined ? [NotificationService] : [NotificationService, TransactionService]);
  const interceptors = [createErrorInterceptor({ log })];
  const notifications = options.notifications ?? {};
  let requestCount = 0;
  const newRequestId = () => `request-${++requestCount}`;
  const handler = createHandler({
    plans,
    rest: createRestGateway({
      compiled: compileRest(plans),
      served: [
        { service: NotificationService, implementation: notifications },
        { service: TransactionService, implementation: transactions ?? {} },
      ],
      interceptors,
      shutdownSignal: shutdown.signal,
      networkTypeOf: () => undefined,
      log,
    }),
    services(router: ConnectRouter) {
      router.service(NotificationService, notifications);
      if (transactions !== undefined) router.service(TransactionService, transactions);
      router.service(Health, createHealthService({ services: served, readiness, shutdownSignal: shutdown.signal }));
      serveReflection(router, served);
    },
    interceptors,
    pages: [healthPage, createReadyPage(readiness, { clock: systemClock, system: createSystemState(systemClock) })],
    authenticate: (token) => (token === signingKey ? signer : bootstrap(token)),
    brakeWrongKeys: options.brakesWrongKeys ? createWrongKeyBrake(systemClock) : () => undefined,
    addressOf: createCallerAddress(options.trustedProxies ?? { includes: () => false, covers: () => false }),
    rateLimit: options.rateLimit === undefined ? null : createRateLimit(options.rateLimit, options.clock ?? systemClock, () => 1),
    cors: createCors(new Set(options.origins ?? [])),
    newRequestId,
    shutdownSignal: shutdown.signal,
    auditRefusal: () => undefined,
    log,
  });
  const server = createServer({
    host: '127.0.0.1',
    port: options.port ?? 0,
    tls: options.tls ?? null,
    handler,
    newRequestId,
    log,
    shutdownDeadlineMs: options.shutdownDeadlineMs ?? 30_000,
    timeouts: options.timeouts ?? patientTimeouts,
    ...(options.connectionLimits === undefined ? {} : { connectionLimits: options.connectionLimits }),
  });
  const { host, port } = await server.listen();
  return {
    host,
    port,
    server,
    shutdown,
    lines,
    async stop() {
      shutdown.abort();
      await server.stop();
    },
  };
}

/** connect-node's transports: every RPC protocol, on the HTTP versions that differ. */
export const transports: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  'Connect over HTTP/1.1': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1' }),
  'Connect over HTTP/2': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2', useBinaryFormat: false }),
  'gRPC-Web over HTTP/1.1': (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }),
  'gRPC over HTTP/2': (baseUrl) => createGrpcTransport({ baseUrl }),
};

/** A client of the tiny service. */
export function notificationClient(transport: Transport) {
  return createClient(NotificationService, transport);
}
