import { create, toBinary } from '@bufbuild/protobuf';
import { SignTypedDataRequestSchema } from '../gen/relayer/v1/signing_service_pb.js';
import type { JobRequest } from './load/job.js';
import { authorization } from './servers.js';

/** The server that answers: the service, a second one that is busy with its own transactions, or a baseline. */
export type ServerName = 'service' | 'sending service' | 'bare http' | 'bare connect' | 'bare connect grpc';

/** One row of the table. */
export interface Case {
  /** Its name on the command line. */
  readonly name: string;
  readonly what: string;
  readonly server: ServerName;
  readonly request: JobRequest;
  /** The case that its rate is divided by, and the minimum of that ratio. */
  readonly of?: { readonly baseline: string; readonly goal: number };
  /** The requests per second that it must reach. */
  readonly goalPerSecond?: number;
}

const typedData = {
  domain: '0x8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f',
  message: '0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e',
};
const connectPath = '/relayer.v1.SigningService/SignTypedData';

const restSign = json('POST', '/api/v1/relayers/r1/sign-typed-data', {
  domain_separator: typedData.domain,
  hash_struct_message: typedData.message,
});
const connectSign = json('POST', connectPath, {
  relayerId: 'r1',
  domainSeparator: typedData.domain,
  hashStructMessage: typedData.message,
});
const grpcSign: JobRequest = {
  protocol: 'grpc',
  method: 'POST',
  path: connectPath,
  headers: { authorization, 'content-type': 'application/grpc+proto' },
  body: toBinary(
    SignTypedDataRequestSchema,
    create(SignTypedDataRequestSchema, { relayerId: 'r1', domainSeparator: typedData.domain, hashStructMessage: typedData.message }),
  ),
};

/** Every row, in the order of the table. `transactionPath` is that of a stored transaction. */
export function casesFor(transactionPath: string): readonly Case[] {
  return [
    { name: 'bare-http', what: 'bare node:http, sign', server: 'bare http', request: restSign },
    { name: 'rest-sign', what: 'REST sign-typed-data', server: 'service', request: restSign, of: { baseline: 'bare-http', goal: 0.7 } },
    { name: 'bare-connect', what: 'bare connect-node, sign, Connect', server: 'bare connect', request: connectSign },
    {
      name: 'connect-sign',
      what: 'Connect SignTypedData, JSON',
      server: 'service',
      request: connectSign,
      of: { baseline: 'bare-connect', goal: 0.9 },
    },
    { name: 'bare-grpc', what: 'bare connect-node, sign, gRPC', server: 'bare connect grpc', request: grpcSign },
    { name: 'grpc-sign', what: 'gRPC SignTypedData', server: 'service', request: grpcSign, of: { baseline: 'bare-grpc', goal: 0.9 } },
    { name: 'rest-get', what: 'REST GET transaction', server: 'service', request: get(transactionPath) },
    {
      name: 'rest-notify',
      what: 'REST create notification, durable',
      server: 'service',
      request: json('POST', '/api/v1/notifications', { url: 'https://hooks.example.com/relayer', signing_key: 'k'.repeat(32) }),
      goalPerSecond: 2_000,
    },
    {
      name: 'rest-send',
      what: 'REST send, durable, node mining',
      server: 'sending service',
      request: json('POST', '/api/v1/relayers/r1/transactions', sampleTransaction),
    },
  ];
}

/** A transfer of 1 wei. */
export const sampleTransaction = {
  to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  value: 1,
  data: '0x',
  gas_limit: 21_000,
  speed: 'fast',
};

function json(method: string, path: string, body: object): JobRequest {
  const headers = { authorization, 'content-type': 'application/json' };
  return { protocol: 'http1', method, path, headers, body: Buffer.from(JSON.stringify(body)) };
}

function get(path: string): JobRequest {
  return { protocol: 'http1', method: 'GET', path, headers: { authorization }, body: new Uint8Array(0) };
}
