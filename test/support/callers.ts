import { type DescService, fromJson, toJson } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createGrpcWebTransport } from '@connectrpc/connect-node';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { apiKey } from './service.js';

/** The services that tests call. */
export type ServiceName = 'TransactionService' | 'SigningService' | 'NotificationService' | 'RelayerService';

/** The result of a call: the response as protobuf JSON with proto names, or the error. */
export type Outcome =
  | { readonly ok: true; readonly response: Record<string, unknown> }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** Calls the service over one RPC protocol with a public client library. */
export interface RpcCaller {
  readonly protocol: 'gRPC' | 'gRPC-Web' | 'Connect JSON';
  /** `message` has proto names (`relayer_id`); the name of its case sets a oneof. */
  call(service: ServiceName, method: string, message: object): Promise<Outcome>;
  close(): void;
}

/** One caller for each RPC protocol. */
export function rpcCallers(baseUrl: string): readonly RpcCaller[] {
  return [grpcCaller(baseUrl), grpcWebCaller(baseUrl), connectJsonCaller(baseUrl)];
}

const codeNames = Object.entries(grpc.status).filter((entry): entry is [string, grpc.status] => typeof entry[1] === 'number');

/** `@grpc/grpc-js`, with the definitions loaded from `proto/` at run time. */
function grpcCaller(baseUrl: string): RpcCaller {
  const files = ['transaction_service', 'signing_service', 'notification_service', 'relayer_service'].map(
    (name) => `relayer/v1/${name}.proto`,
  );
  const definition = protoLoader.loadSync(files, { includeDirs: ['proto'], keepCase: true, longs: String, enums: String, oneofs: true });
  const root = grpc.loadPackageDefinition(definition) as unknown as {
    relayer: { v1: Record<ServiceName, grpc.ServiceClientConstructor> };
  };
  const clients = new Map<ServiceName, grpc.Client>();
  const metadata = new grpc.Metadata();
  metadata.set('authorization', `Bearer ${apiKey}`);

  function clientOf(service: ServiceName): grpc.Client {
    const known = clients.get(service);
    if (known !== undefined) return known;
    const client = new root.relayer.v1[service](new URL(baseUrl).host, grpc.credentials.createInsecure());
    clients.set(service, client);
    return client;
  }

  return {
    protocol: 'gRPC',
    call(service, method, message) {
      const client = clientOf(service) as unknown as Record<
        string,
        (
          message: object,
          metadata: grpc.Metadata,
          done: (error: grpc.ServiceError | null, response?: Record<string, unknown>) => void,
        ) => void
      >;
      return new Promise((resolve) => {
        client[method]?.(message, metadata, (error, response) => {
          if (error === null) resolve({ ok: true, response: response ?? {} });
          else
            resolve({
              ok: false,
              code: codeNames.find(([, code]) => code === error.code)?.[0] ?? String(error.code),
              message: error.details,
            });
        });
      });
    },
    close() {
      for (const client of clients.values()) client.close();
    },
  };
}

/** The Connect client for gRPC-Web, over HTTP/1.1. */
function grpcWebCaller(baseUrl: string): RpcCaller {
  const transport = createGrpcWebTransport({
    baseUrl,
    httpVersion: '1.1',
    interceptors: [
      (next) => (request) => {
        request.header.set('authorization', `Bearer ${apiKey}`);
        return next(request);
      },
    ],
  });
  const services: Record<ServiceName, DescService> = { TransactionService, SigningService, NotificationService, RelayerService };
  return {
    protocol: 'gRPC-Web',
    async call(service, method, message) {
      const desc = services[service].methods.find(({ name }) => name === method);
      if (desc === undefined) throw new Error(`no method ${method}`);
      const client = createClient(services[service], transport) as unknown as Record<string, (input: object) => Promise<never>>;
      try {
        const response = await client[desc.localName]?.(fromJson(desc.input, message as never));
        return {
          ok: true,
          response: toJson(desc.output, response as never, { useProtoFieldName: true, alwaysEmitImplicit: true }) as Record<
            string,
            unknown
          >,
        };
      } catch (error) {
        const { code, rawMessage } = error as { code: number; rawMessage: string };
        return { ok: false, code: codeNames.find(([, number]) => number === code)?.[0] ?? String(code), message: rawMessage };
      }
    },
    close() {},
  };
}

/** Plain HTTP with the Connect protocol's JSON. */
function connectJsonCaller(baseUrl: string): RpcCaller {
  return {
    protocol: 'Connect JSON',
    async call(service, method, message) {
      const answer = await fetch(`${baseUrl}/relayer.v1.${service}/${method}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
        body: JSON.stringify(message),
      });
      const body = (await answer.json()) as Record<string, unknown>;
      if (answer.ok) return { ok: true, response: snakeCased(body) as Record<string, unknown> };
      return { ok: false, code: String(body.code).toUpperCase(), message: String(body.message) };
    },
    close() {},
  };
}

/** Converts the lowerCamelCase names of protobuf JSON to proto names, which tests read. */
function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`), snakeCased(item)]),
  );
}

/** One REST call: status, headers and the parsed envelope. */
export async function rest(baseUrl: string, verb: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(`${baseUrl}/api/v1${path}`, {
    method: verb,
    headers: { authorization: `Bearer ${apiKey}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text) as any };
}
