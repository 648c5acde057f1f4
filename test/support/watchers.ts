import { type Client, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import { TransactionStatus } from '../../gen/relayer/v1/transaction_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { openEvents } from './event-stream.js';
import { apiKey } from './service.js';

/** A message of a watch, as a client that is not ours read it. */
export interface WatchMessage {
  readonly event: 'transaction' | 'snapshot_complete' | 'heartbeat';
  readonly resumeToken: string;
  /** Empty unless the event is a transaction. */
  readonly id: string;
  /** `CONFIRMED`; empty unless the event is a transaction. */
  readonly status: string;
  /** 0 unless the event is a transaction. */
  readonly revision: number;
}

/** An open watch of the relayer r1. A stream that the service refuses or breaks off throws the name of its code: `NOT_FOUND`. */
export interface Watch extends AsyncIterable<WatchMessage> {
  cancel(): void;
}

export interface WatchQuery {
  /** Empty: all transactions. */
  readonly transactionId?: string;
  readonly resumeToken?: string;
}

/** Watches the transactions of r1 with one client over one protocol. */
export interface Watcher {
  watch(query?: WatchQuery): Watch;
  close(): void;
}

/** The clients and protocols that Node has, by name. */
export const watchersByName: Readonly<Record<string, (baseUrl: string) => Watcher>> = {
  'grpc-js': grpcWatcher,
  'Connect client, gRPC': (baseUrl) => connectWatcher(createClient(TransactionService, createGrpcTransport({ baseUrl }))),
  'Connect client, gRPC-Web over HTTP/1.1': (baseUrl) =>
    connectWatcher(createClient(TransactionService, createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }))),
  'Connect client, Connect over HTTP/1.1': (baseUrl) =>
    connectWatcher(createClient(TransactionService, createConnectTransport({ baseUrl, httpVersion: '1.1' }))),
  'Connect client, Connect JSON over HTTP/2': (baseUrl) =>
    connectWatcher(createClient(TransactionService, createConnectTransport({ baseUrl, httpVersion: '2', useBinaryFormat: false }))),
  'server-sent events over HTTP/1.1': (baseUrl) => eventWatcher(baseUrl, '1.1'),
  'server-sent events over HTTP/2': (baseUrl) => eventWatcher(baseUrl, '2'),
};

const codeNames = new Map(Object.entries(grpc.status).map(([name, code]) => [code as unknown, name]));

function codeError(error: unknown): Error {
  return new Error(codeNames.get((error as { readonly code: number }).code) ?? 'no code', { cause: error });
}

/** The plain JSON of `@grpc/proto-loader`. */
interface LoadedMessage {
  readonly event: WatchMessage['event'];
  readonly resume_token: string;
  readonly transaction?: { readonly id: string; readonly status: string; readonly revision: string };
}

/** `@grpc/grpc-js`, with the definitions loaded from `proto/` at run time. */
function grpcWatcher(baseUrl: string): Watcher {
  const definition = protoLoader.loadSync('relayer/v1/transaction_service.proto', {
    includeDirs: ['proto'],
    keepCase: true,
    longs: String,
    enums: String,
    oneofs: true,
  });
  const root = grpc.loadPackageDefinition(definition) as unknown as {
    relayer: { v1: { TransactionService: grpc.ServiceClientConstructor } };
  };
  const client = new root.relayer.v1.TransactionService(new URL(baseUrl).host, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  metadata.set('authorization', `Bearer ${apiKey}`);
  type Call = (message: object, metadata: grpc.Metadata) => grpc.ClientReadableStream<LoadedMessage>;
  return {
    watch({ transactionId = '', resumeToken = '' } = {}) {
      const watchTransactions = (client as unknown as { WatchTransactions: Call }).WatchTransactions.bind(client);
      const stream = watchTransactions({ relayer_id: 'r1', transaction_id: transactionId, resume_token: resumeToken }, metadata);
      return {
        cancel: () => stream.cancel(),
        async *[Symbol.asyncIterator]() {
          try {
            for await (const { event, resume_token, transaction } of stream as AsyncIterable<LoadedMessage>) {
              const status = transaction?.status.replace('TRANSACTION_STATUS_', '') ?? '';
              yield { event, resumeToken: resume_token, id: transaction?.id ?? '', status, revision: Number(transaction?.revision ?? 0) };
            }
          } catch (error) {
            throw codeError(error);
          }
        },
      };
    },
    close: () => client.close(),
  };
}

function connectWatcher(client: Client<typeof TransactionService>): Watcher {
  return {
    watch(query = {}) {
      const canceling = new AbortController();
      const headers = { authorization: `Bearer ${apiKey}` };
      const stream = client.watchTransactions({ relayerId: 'r1', ...query }, { headers, signal: canceling.signal });
      return {
        cancel: () => canceling.abort(),
        async *[Symbol.asyncIterator]() {
          try {
            for await (const { event, resumeToken } of stream) {
              if (event.case === 'transaction') {
                const { id, status, revision } = event.value;
                yield { event: event.case, resumeToken, id, status: TransactionStatus[status] ?? '', revision: Number(revision) };
              } else {
                const name = event.case === 'snapshotComplete' ? 'snapshot_complete' : 'heartbeat';
                yield { event: name, resumeToken, id: '', status: '', revision: 0 };
              }
            }
          } catch (error) {
            throw codeError(error);
          }
        },
      };
    },
    close() {},
  };
}

/** The code of an error's fixed text. */
const codeOfText: Readonly<Record<string, string>> = {
  'Bad Request': 'FAILED_PRECONDITION',
  Unauthorized: 'UNAUTHENTICATED',
  'Not found': 'NOT_FOUND',
  'Too Many Requests': 'RESOURCE_EXHAUSTED',
  'Service Unavailable': 'UNAVAILABLE',
};

/** The stream of REST, read by hand; the id of each event is the token. */
function eventWatcher(baseUrl: string, version: '1.1' | '2'): Watcher {
  const errorOf = (text: string) => new Error(codeOfText[JSON.parse(text).message] ?? `an error without a code: ${text}`);
  return {
    watch({ transactionId, resumeToken } = {}) {
      let cancel = (): void => undefined;
      return {
        cancel: () => cancel(),
        async *[Symbol.asyncIterator]() {
          const query = transactionId ? `?transaction_id=${transactionId}` : '';
          const headers = resumeToken ? { 'last-event-id': resumeToken } : {};
          const answer = await openEvents(baseUrl, `/api/v1/relayers/r1/transactions/watch${query}`, { version, headers }).catch(
            (cause) => {
              throw new Error('UNAVAILABLE', { cause });
            },
          );
          cancel = answer.cancel;
          if (answer.status >= 400) throw errorOf(await answer.text());
          for await (const { event, id: token, data } of answer.events) {
            if (event === 'error') throw errorOf(data);
            const { id = '', status = '', revision = 0 } = JSON.parse(data);
            yield { event: event as WatchMessage['event'], resumeToken: token ?? '', id, status: status.toUpperCase(), revision };
          }
        },
      };
    },
    close() {},
  };
}
