/*
 * Sends a transaction with the client of the package, waits until it is confirmed, and verifies a webhook. In a project of your own, after
 * `npm install relayer-service`; here, after `npm run build`:
 *
 *   URL=http://127.0.0.1:8080 TOKEN=... node examples/package/main.mjs
 */
import { createServer } from 'node:http';
import { ConnectError, createRelayerClient, TransactionStatus, verifyWebhook } from 'relayer-service/client';

const { URL: url = 'http://127.0.0.1:8080', TOKEN: token = '', RELAYER: relayerId = 'sandbox' } = process.env;
const client = createRelayerClient({ url, token });

try {
  await sendAndWait();
  await receiveWebhook();
} catch (error) {
  if (!(error instanceof ConnectError)) throw error;
  process.stderr.write(`the service answered: ${error.message}\n`);
  process.exitCode = 1;
}

async function sendAndWait() {
  // The client retries with an idempotency key, so the transaction is sent once.
  const { transaction } = await client.transactions.sendTransaction({
    relayerId,
    transaction: { case: 'evm', value: { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1000000000000000001' } },
  });
  say(`sent ${transaction.id}`);
  const { status, hash } = await client.waitFor(transaction, {
    onChange: (now) => say(`is ${TransactionStatus[now.status].toLowerCase()}`),
    signal: AbortSignal.timeout(120_000),
  });
  say(`ended as ${TransactionStatus[status].toLowerCase()}: ${hash}`);
}

/** Runs a receiver on this machine, which the service may post to only with `WEBHOOK_ALLOW_PRIVATE=true`, as in the sandbox. */
async function receiveWebhook() {
  const signingKey = 'a-signing-key-of-the-example-0123456789';
  const notificationId = `example-${Date.now()}`;
  const server = createServer();
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const arrived = new Promise((resolve, reject) => {
    server.on('request', async (request, response) => {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      response.writeHead(204).end();
      verifyWebhook(signingKey, request.headers, Buffer.concat(chunks)).then(resolve, reject);
    });
  });
  const { port } = server.address();
  await client.notifications.createNotification({ id: notificationId, url: `http://127.0.0.1:${port}/`, signingKey });
  await client.notifications.testNotification({ notificationId });
  const { event } = await arrived;
  say(`webhook ${event}: valid signature`);
  await client.notifications.deleteNotification({ notificationId });
  server.close();
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
