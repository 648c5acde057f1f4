import { create, type DescMethodUnary, fromBinary, fromJson, type JsonValue, type Message, toBinary } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, type Transport } from '@connectrpc/connect';
import { findTrailerError } from '@connectrpc/connect/protocol-grpc';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import grpc from '@grpc/grpc-js';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RequestInfoSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from '../../gen/google/rpc/error_details_pb.js';
import { apiKey } from './service.js';

/** The result of an RPC. */
export type RpcAnswer =
  | { readonly ok: true; readonly response: Message }
  | {
      readonly ok: false;
      readonly code: string;
      readonly sentence: string;
      /** Of `google.rpc.ErrorInfo`. */
      readonly info: { readonly reason: string; readonly domain: string; readonly metadata: Readonly<Record<string, string>> } | undefined;
      /** Of `google.rpc.BadRequest`. */
      readonly fields: readonly { readonly field: string; readonly description: string }[];
      /** Of `google.rpc.RequestInfo`. */
      readonly requestId: string | undefined;
      /** Of `google.rpc.ResourceInfo`. */
      readonly resource: { readonly type: string; readonly name: string } | undefined;
      /** Of `google.rpc.RetryInfo`. */
      readonly retryDelayMs: number | undefined;
      /** Headers and trailers that came with it. */
      readonly metadata: Headers;
    };

/** Calls unary methods over one protocol and returns every detail of an error. */
export interface RpcAsker {
  readonly protocol: 'gRPC' | 'gRPC-Web' | 'Connect' | 'Connect JSON';
  /** `message` is protobuf JSON; undefined as a header's value leaves it out; without `timeoutMs` there is no deadline. */
  ask(
    method: DescMethodUnary,
    message: JsonValue,
    headers?: Readonly<Record<string, string | undefined>>,
    timeoutMs?: number,
  ): Promise<RpcAnswer>;
  close(): void;
}

/** `@grpc/grpc-js` for gRPC, connect-node for the others. */
export function rpcAskers(baseUrl: string): readonly RpcAsker[] {
  return [
    grpcAsker(baseUrl),
    connectAsker('gRPC-Web', createGrpcWebTransport({ baseUrl, httpVersion: '1.1' })),
    connectAsker('Connect', createConnectTransport({ baseUrl, httpVersion: '2', useBinaryFormat: true })),
    connectAsker('Connect JSON', createConnectTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: false })),
  ];
}

/** Code, sentence and details of an error. */
export function rpcAnswerOf(error: ConnectError): RpcAnswer {
  const [info] = error.findDetails(ErrorInfoSchema);
  const [resource] = error.findDetails(ResourceInfoSchema);
  const [retry] = error.findDetails(RetryInfoSchema);
  return {
    ok: false,
    code: Code[error.code] ?? String(error.code),
    sentence: error.rawMessage,
    info: info && { reason: info.reason, domain: info.domain, metadata: info.metadata },
    fields: error
      .findDetails(BadRequestSchema)
      .flatMap(({ fieldViolations }) => fieldViolations.map(({ field, description }) => ({ field, description }))),
    requestId: error.findDetails(RequestInfoSchema)[0]?.requestId,
    resource: resource && { type: resource.resourceType, name: resource.resourceName },
    retryDelayMs: retry?.retryDelay && durationMs(retry.retryDelay),
    metadata: error.metadata,
  };
}

function withKey(headers: Readonly<Record<string, string | undefined>>): [string, string][] {
  const all = { authorization: `Bearer ${apiKey}`, ...headers };
  return Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
}

function grpcAsker(baseUrl: string): RpcAsker {
  const client = new grpc.Client(new URL(baseUrl).host, grpc.credentials.createInsecure());
  return {
    protocol: 'gRPC',
    ask(method, json, headers = {}, timeoutMs = undefined) {
      const metadata = new grpc.Metadata();
      for (const [name, value] of withKey(headers)) metadata.add(name, value);
      const serialize = (message: Message) => Buffer.from(toBinary(method.input, message));
      const deserialize = (bytes: Buffer) => fromBinary(method.output, bytes) as Message;
      return new Promise((resolve) => {
        const path = `/${method.parent.typeName}/${method.name}`;
        const seen: Message = fromJson(method.input, json);
        const options = timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
        client.makeUnaryRequest(path, serialize, deserialize, seen, metadata, options, (error, response) => {
          if (error === null) resolve({ ok: true, response: response ?? create(method.output) });
          else resolve(rpcAnswerOf(connectErrorFrom(error)));
        });
      });
    },
    close: () => client.close(),
  };
}

/** Reads a grpc-js error with its details. */
export function connectErrorFrom(error: grpc.ServiceError): ConnectError {
  const headers = new Headers({ 'grpc-status': String(error.code) });
  const [details] = error.metadata.get('grpc-status-details-bin');
  if (details !== undefined) headers.set('grpc-status-details-bin', Buffer.from(details).toString('base64'));
  for (const [name, value] of Object.entries(error.metadata.getMap())) {
    if (typeof value === 'string') headers.set(name, value);
  }
  const told = findTrailerError(headers) ?? new ConnectError('no error');
  return Object.assign(new ConnectError(error.details, told.code, headers), { details: told.details });
}

function connectAsker(protocol: RpcAsker['protocol'], transport: Transport): RpcAsker {
  return {
    protocol,
    async ask(method, json, headers = {}, timeoutMs = undefined) {
      try {
        const { message } = await transport.unary(method, undefined, timeoutMs, withKey(headers), fromJson(method.input, json), undefined);
        return { ok: true, response: message };
      } catch (error) {
        return rpcAnswerOf(ConnectError.from(error));
      }
    },
    close() {},
  };
}
