import { create, type DescMessage, type MessageInitShape, toBinary, toJsonString } from '@bufbuild/protobuf';
import { CreateNotificationRequestSchema } from '../../gen/relayer/v1/notification_service_pb.js';
import { GetRelayerRequestSchema } from '../../gen/relayer/v1/relayer_service_pb.js';
import { SignDataRequestSchema } from '../../gen/relayer/v1/signing_service_pb.js';
import {
  ListTransactionsRequestSchema,
  SendTransactionRequestSchema,
  WatchTransactionsRequestSchema,
} from '../../gen/relayer/v1/transaction_service_pb.js';
import { apiKey } from '../support/service.js';

/** A receiver of transactions. */
const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

/** A valid call as RPC takes it. */
export interface ValidCall {
  /** `/relayer.v1.Service/Method` */
  readonly path: string;
  readonly json: string;
  readonly binary: Uint8Array;
}

/** The same call as REST takes it. */
export interface ValidRest {
  readonly verb: string;
  readonly path: string;
  readonly body: string | null;
}

function call<T extends DescMessage>(service: string, method: string, schema: T, init: MessageInitShape<T>): ValidCall {
  const message = create(schema, init);
  return { path: `/relayer.v1.${service}/${method}`, json: toJsonString(schema, message), binary: toBinary(schema, message) };
}

/** Reads a relayer: the call that all protocols are probed with. */
export const getRelayer = call('RelayerService', 'GetRelayer', GetRelayerRequestSchema, { relayerId: 'r1' });

/** Signs: a call with a text of the caller's. */
export const signData = call('SigningService', 'SignData', SignDataRequestSchema, { relayerId: 'r1', message: 'hello é \u{1f600}' });

/** A stream that does not end by itself. */
export const watchTransactions = call('TransactionService', 'WatchTransactions', WatchTransactionsRequestSchema, { relayerId: 'r1' });

/** Calls of every kind: reading and writing, flat and nested. */
export const validCalls: readonly ValidCall[] = [
  getRelayer,
  signData,
  call('TransactionService', 'ListTransactions', ListTransactionsRequestSchema, { relayerId: 'r1', perPage: 5 }),
  call('TransactionService', 'SendTransaction', SendTransactionRequestSchema, {
    relayerId: 'r1',
    transaction: { case: 'evm', value: { to, value: '1000000000000000001', data: '0x00ff', gasLimit: 50_000n } },
  }),
  call('NotificationService', 'CreateNotification', CreateNotificationRequestSchema, {
    url: 'https://hooks.example.com/x',
    signingKey: 'k'.repeat(32),
  }),
];

/** The same in REST, and more verbs. */
export const validRest: readonly ValidRest[] = [
  { verb: 'GET', path: '/api/v1/relayers/r1', body: null },
  { verb: 'GET', path: '/api/v1/relayers/r1/transactions?page=1&per_page=5&status=pending', body: null },
  {
    verb: 'POST',
    path: '/api/v1/relayers/r1/transactions',
    body: `{"to":"${to}","value":1000000000000000001,"data":"0x00ff","gas_limit":50000}`,
  },
  { verb: 'PUT', path: '/api/v1/relayers/r1/transactions/nothing', body: `{"to":"${to}","value":"0x1","speed":"safeLow"}` },
  { verb: 'DELETE', path: '/api/v1/relayers/r1/transactions/nothing', body: null },
  { verb: 'POST', path: '/api/v1/relayers/r1/sign', body: '{"message":"h\\u00e9 \\ud83d\\ude00"}' },
  {
    verb: 'POST',
    path: '/api/v1/relayers/r1/sign-typed-data',
    body: `{"domain_separator":"${'a'.repeat(64)}","hash_struct_message":"${'b'.repeat(64)}"}`,
  },
  { verb: 'PATCH', path: '/api/v1/notifications/nothing', body: '{"url":"https://hooks.example.com/y","signing_key":null}' },
  { verb: 'POST', path: '/api/v1/relayers/r1/rpc', body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}' },
];

/** The header line with the key; null: none, `wrong`: an invalid key. */
export type Key = 'right' | 'wrong' | null;

/** The header lines of HTTP/1 that carry a key. */
export function keyLine(key: Key): string {
  return key === null ? '' : `authorization: Bearer ${key === 'right' ? apiKey : 'x'.repeat(40)}\r\n`;
}

/** A message behind its flags and its length, which may lie. */
export function envelope(
  message: Uint8Array,
  { flags = 0, length = message.byteLength }: { flags?: number; length?: number } = {},
): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

/** What differs from the plainest HTTP/1 request. */
export interface Http1Request {
  readonly verb?: string;
  readonly path: string;
  readonly type?: string;
  readonly key?: Key;
  /** Further header lines, each with its line end. */
  readonly lines?: string;
  readonly body?: string | Uint8Array | null;
  /** Absent: that of the body. */
  readonly length?: number;
  /** True, unless said: it asks to be the last of its connection. */
  readonly isLast?: boolean;
}

/** A request of HTTP/1. */
export function http1({ verb = 'POST', path, type, key = 'right', lines = '', body = null, length, isLast = true }: Http1Request): Buffer {
  const bytes = Buffer.from(body ?? '');
  const lengthLine = body === null && length === undefined ? '' : `content-length: ${length ?? bytes.byteLength}\r\n`;
  const typeLine = type === undefined ? '' : `content-type: ${type}\r\n`;
  const head = `${verb} ${path} HTTP/1.1\r\nhost: a\r\n${keyLine(key)}${typeLine}${lengthLine}${lines}${isLast ? 'connection: close\r\n' : ''}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes]);
}

/** Headers of a call over HTTP/2. */
export function http2Headers(path: string, type: string | null, more: Record<string, string> = {}): Record<string, string> {
  return {
    ':method': type === null ? 'GET' : 'POST',
    ':path': path,
    ...(type === null ? {} : { 'content-type': type }),
    ...(type?.startsWith('application/grpc') === true ? { te: 'trailers' } : {}),
    authorization: `Bearer ${apiKey}`,
    ...more,
  };
}
