/// <reference lib="dom" />
import { createClient, type Transport } from '@connectrpc/connect';
import type { UniversalClientFn } from '@connectrpc/connect/protocol';
import { createTransport } from '@connectrpc/connect/protocol-grpc-web';
import { EventType, NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionStatus } from '../../gen/relayer/v1/transaction_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';

const form = document.getElementById('form') as HTMLFormElement;
form.addEventListener('submit', (event) => {
  event.preventDefault();
  const data = new FormData(form);
  const text = (name: string) => String(data.get(name));
  run(new URL(text('url')).origin, text('token'), text('relayer')).catch((error: unknown) => say(`failed: ${error}`));
});

async function run(baseUrl: string, token: string, relayerId: string): Promise<void> {
  const transport = grpcWeb(baseUrl);
  const headers = { authorization: `Bearer ${token}` };

  const transactions = createClient(TransactionService, transport);
  const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
  const { transaction: sent } = await transactions.sendTransaction(
    { relayerId, transaction: { case: 'evm', value: { to, value: '1000000000000000001' } } },
    { headers },
  );
  const transactionId = sent?.id ?? '';
  say(`sent ${transactionId}`);
  await transactions.replaceTransaction({ relayerId, transactionId, transaction: { case: 'evm', value: { to, value: '2' } } }, { headers });
  say('replaced');
  for await (const { event } of transactions.watchTransactions({ relayerId, transactionId }, { headers })) {
    if (event.case !== 'transaction') continue;
    const { status, hash } = event.value;
    say(`is ${TransactionStatus[status].toLowerCase()} ${hash ?? ''}`);
    if (status >= TransactionStatus.CONFIRMED) break;
  }

  // The example in EIP-712.
  const { signature } = await createClient(SigningService, transport).signTypedData(
    {
      relayerId,
      domainSeparator: '0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f',
      hashStructMessage: '0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e',
    },
    { headers },
  );
  say(`signed ${signature?.sig}`);

  // A page cannot receive webhooks. The sandbox's receiver prints each one and whether its signature is valid.
  const notifications = createClient(NotificationService, transport);
  const { delivery } = await notifications.testNotification({ notificationId: 'sandbox-webhook' }, { headers });
  say(`webhook ${EventType[delivery?.event ?? 0]?.toLowerCase()}: on its way`);
}

/** Does the same as `createGrpcWebTransport` of `@connectrpc/connect-web`, which you should use in your own app. */
function grpcWeb(baseUrl: string): Transport {
  return createTransport({
    baseUrl,
    httpClient: byFetch,
    useBinaryFormat: true,
    interceptors: [],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: Number.MAX_SAFE_INTEGER,
    readMaxBytes: 4_194_304,
    writeMaxBytes: 1_048_576,
  });
}

/** Browsers send only whole bodies, and receive them in parts. */
const byFetch: UniversalClientFn = async ({ url, method, header, body, signal }) => {
  const parts: BlobPart[] = [];
  for await (const part of body ?? []) parts.push(new Uint8Array(part));
  const answer = await fetch(url, { method, headers: header, body: new Blob(parts), signal: signal ?? null });
  return { status: answer.status, header: answer.headers, body: partsOf(answer), trailer: new Headers() };
};

async function* partsOf({ body }: Response): AsyncIterable<Uint8Array> {
  const reader = body?.getReader();
  for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) yield read.value;
}

function say(line: string): void {
  const item = document.createElement('li');
  item.textContent = line;
  document.getElementById('log')?.append(item);
}
