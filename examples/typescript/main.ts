/*
 * Sends, replaces and watches a transaction, signs typed data, and receives a webhook, with Connect in Node. Run it against `npm start`:
 *
 *   URL=http://127.0.0.1:8080 TOKEN=... node dist/examples/typescript/main.js
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionStatus } from '../../gen/relayer/v1/transaction_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { verifyWebhook } from '../webhooks/verify.js';

const { URL: url = 'http://127.0.0.1:8080', TOKEN: token = '', RELAYER: relayerId = 'sandbox' } = process.env;

const transport = createGrpcTransport({
  baseUrl: new URL(url).origin,
  interceptors: [
    (next) => (request) => {
      request.header.set('authorization', `Bearer ${token}`);
      return next(request);
    },
  ],
});
const transactions = createClient(TransactionService, transport);
const signing = createClient(SigningService, transport);
const notifications = createClient(NotificationService, transport);

await sendReplaceAndWatch();
await sign();
await receiveWebhook();

async function sendReplaceAndWatch(): Promise<void> {
  const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
  const { transaction: sent } = await transactions.sendTransaction(
    { relayerId, transaction: { case: 'evm', value: { to, value: '1000000000000000001' } } },
    // A retry with the same key, for example after a timeout, returns the same transaction.
    { headers: { 'idempotency-key': crypto.randomUUID() } },
  );
  const transactionId = sent?.id ?? '';
  say(`sent ${transactionId}`);

  await transactions.replaceTransaction({
    relayerId,
    transactionId,
    transaction: { case: 'evm', value: { to, value: '2', data: '0x' } },
  });
  say('replaced');

  for await (const { event } of transactions.watchTransactions({ relayerId, transactionId })) {
    if (event.case !== 'transaction') continue;
    const { status, hash } = event.value;
    say(`is ${TransactionStatus[status].toLowerCase()} ${hash ?? ''}`);
    if (status >= TransactionStatus.CONFIRMED) break;
  }
}

async function sign(): Promise<void> {
  // The example in EIP-712.
  const { signature } = await signing.signTypedData({
    relayerId,
    domainSeparator: '0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f',
    hashStructMessage: '0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e',
  });
  say(`signed ${signature?.sig}`);
}

/** Runs a receiver on this machine, which the service may post to only with `WEBHOOK_ALLOW_PRIVATE=true`, as in the sandbox. */
async function receiveWebhook(): Promise<void> {
  const signingKey = 'a-signing-key-of-the-example-0123456789';
  const id = `example-${Date.now()}`;
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const arrived = new Promise<unknown>((resolve, reject) => {
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        response.writeHead(204).end();
        try {
          resolve(verifyWebhook(signingKey, request.headers, Buffer.concat(chunks)));
        } catch (error) {
          reject(error);
        }
      });
    });
  });
  await notifications.createNotification({ id, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, signingKey });
  await notifications.testNotification({ notificationId: id });
  const { event } = (await arrived) as { event: string };
  say(`webhook ${event}: valid signature`);
  await notifications.deleteNotification({ notificationId: id });
  server.close();
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
