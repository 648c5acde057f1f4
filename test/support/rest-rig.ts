import { createServer as createHttpServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type Call, noStoredResponse } from '../../src/api/contract/call.js';
import { createErrorInterceptor } from '../../src/api/contract/errors.js';
import { createGate, type GateDeps } from '../../src/api/contract/gate.js';
import { compileMethodPlans } from '../../src/api/contract/method-plan.js';
import { createWarnings } from '../../src/api/contract/warnings.js';
import { drainAfterAnswer } from '../../src/api/http/answer.js';
import type { ApiRequest, ApiResponse } from '../../src/api/http/header.js';
import { compileRest, createRestGateway, type RestGatewayDeps } from '../../src/api/rest/gateway.js';
import { DomainError } from '../../src/core/errors/errors.js';
import type { Principal } from '../../src/core/records/principal.js';
import type { Relayer } from '../../src/core/records/relayer.js';

/** A relayer as the gate sees it. */
function relayerOf(
  id: string,
  networkType: Relayer['networkType'],
  state: Partial<Pick<Relayer, 'paused' | 'disabledReason'>> = {},
): Relayer {
  return { id, networkType, paused: false, disabledReason: null, ...state } as Relayer;
}

/** The relayers of the rigs. */
export const relayers = new Map(
  [
    relayerOf('evm', 'evm'),
    relayerOf('stellar', 'stellar'),
    relayerOf('solana', 'solana'),
    relayerOf('paused', 'evm', { paused: true }),
    relayerOf('disabled', 'evm', { disabledReason: 'this is another chain' }),
  ].map((relayer) => [relayer.id, relayer]),
);

/** A key for every relayer. */
export const anyone: Principal = {
  keyId: 'any',
  name: 'any',
  scopes: new Set(['transactions:write']),
  relayers: null,
  addresses: null,
  digest: null,
  expiresAtMs: null,
  ended: null,
};
/** A key for the relayer `evm` only. */
export const restricted: Principal = { ...anyone, keyId: 'restricted', name: 'restricted', relayers: new Set(['evm']) };

/** For rigs without a store, whose calls carry no idempotency key. */
export const neverOnce: GateDeps['serveOnce'] = () => Promise.reject(new Error('this rig keeps no outcomes'));

/** An answer, unparsed. */
export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
}

/** A request of a test. */
export interface Ask {
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string>;
  readonly principal?: Principal | null;
}

/** A REST gateway with its interceptors behind real sockets, without the guards. */
export interface RestRig {
  readonly port: number;
  readonly http2Port: number;
  readonly lines: { fields: Record<string, unknown>; message: string }[];
  ask(verb: string, path: string, ask?: Ask): Promise<Answer>;
  /** The same over HTTP/2. */
  ask2(verb: string, path: string, ask?: Ask): Promise<Answer>;
  stop(): Promise<void>;
}

/** Starts a rig with these services. */
export async function startRestRig(served: RestGatewayDeps['served']): Promise<RestRig> {
  const lines: RestRig['lines'] = [];
  const write = (fields: object, message: string) => lines.push({ fields: fields as Record<string, unknown>, message });
  const log = { debug: write, info: write, warn: write, error: write };
  const plans = compileMethodPlans(served.map(({ service }) => service));
  const directory = { relayer: (id: string) => relayers.get(id) };
  const gateway = createRestGateway({
    compiled: compileRest(plans),
    served,
    interceptors: [
      createErrorInterceptor({ log }),
      createWarnings(),
      createGate({ plans, directory, serveOnce: neverOnce, checkOf: () => undefined }),
    ],
    shutdownSignal: new AbortController().signal,
    networkTypeOf: (id) => relayers.get(id)?.networkType,
    log,
  });
  let principal: Principal | null = anyone;
  const handler = (request: ApiRequest, response: ApiResponse) => {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const call: Call = {
      requestId: 'request-1',
      callerAddress: null,
      path: '/',
      startedAtMs: 0,
      auditFacts: {},
      auditedStatus: null,
      isAudited: false,
      principal,
      warnings: [],
      bodyProblem: null,
      traceParent: null,
      traceId: null,
      failure: null,
      relayer: null,
      idempotencyKeys: [],
      fieldNames: 'rest',
      storedResponse: noStoredResponse,
      complete: null,
      waitedMs: 0,
    };
    const exchange = {
      request,
      response,
      call,
      query,
      headOnly: request.method === 'HEAD',
      headers: [['x-request-id', 'request-1'] as const],
      takeToken: () => undefined,
      noteRefusal: () => undefined,
    };
    request.on('error', () => undefined);
    drainAfterAnswer(request, response);
    const match = gateway.match(request.method ?? '', path);
    if (match.kind === 'route') void gateway.handle(match, exchange);
    else gateway.fail(exchange, new DomainError('path_not_found', 'PATH_NOT_FOUND', 'this path does not exist'));
  };
  const server = createHttpServer((request: IncomingMessage, response: ServerResponse) => handler(request, response));
  const server2 = createHttp2Server((request, response) => handler(request, response));
  for (const one of [server, server2]) await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { port: http2Port } = server2.address() as AddressInfo;
  const session = connect(`http://127.0.0.1:${http2Port}`);

  return {
    port,
    http2Port,
    lines,
    ask(verb, path, { body, headers, principal: asking = anyone } = {}) {
      principal = asking;
      const given = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body ?? '')), ...headers };
      return new Promise((resolve, reject) => {
        const request = httpRequest(
          { port, host: '127.0.0.1', method: verb, path, agent: false, headers: body === undefined ? (headers ?? {}) : given },
          (response) => {
            const chunks: Buffer[] = [];
            response.on('data', (chunk: Buffer) => chunks.push(chunk));
            response.on('end', () =>
              resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() }),
            );
          },
        );
        request.on('error', reject);
        request.end(body);
      });
    },
    ask2(verb, path, { body, headers, principal: asking = anyone } = {}) {
      principal = asking;
      return new Promise((resolve, reject) => {
        const stream = session.request(
          { ':method': verb, ':path': path, 'content-type': 'application/json', ...headers },
          { endStream: body === undefined },
        );
        let head: Record<string, string | string[] | undefined> = {};
        const chunks: Buffer[] = [];
        stream.on('response', (received) => {
          head = received as typeof head;
        });
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => resolve({ status: Number(head[':status']), headers: head, text: Buffer.concat(chunks).toString() }));
        stream.on('error', reject);
        if (body !== undefined) stream.end(body);
      });
    },
    async stop() {
      session.close();
      server.closeAllConnections();
      await Promise.all([server, server2].map((one) => new Promise<void>((resolve) => one.close(() => resolve()))));
    },
  };
}
