/*
 * Sends a transaction from a browser page with the client of the package, and shows its changes. Bundle it, for example with
 * `npx esbuild page.mjs --bundle --minify --format=esm --outfile=page.js`, and allow the page's origin in the service: CORS_ALLOWED_ORIGINS.
 */
import { ConnectError, createRelayerClient, TransactionStatus } from 'relayer-service/client';

/** Sends one wei. `show` gets a line for each change. The key is that of the page's user: never put a key into a page that others can open. */
export async function pay(url, token, relayerId, to, show) {
  const client = createRelayerClient({ url, token });
  try {
    const { transaction } = await client.transactions.sendTransaction({
      relayerId,
      transaction: { case: 'evm', value: { to, value: '1' } },
    });
    await client.waitFor(transaction, { onChange: ({ status, hash }) => show(`${TransactionStatus[status]} ${hash ?? ''}`) });
  } catch (error) {
    show(`failed: ${ConnectError.from(error).message}`);
  }
}
