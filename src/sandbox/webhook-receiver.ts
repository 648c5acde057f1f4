import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A webhook receiver on this machine. */
export interface WebhookReceiver {
  readonly url: string;
  stop(): Promise<void>;
}

/** Larger than any event. */
const maxBodyBytes = 1_048_576;

/** Starts a receiver that prints each webhook and whether its signature is valid. */
export async function startWebhookReceiver(signingKey: string, print: (line: string) => void): Promise<WebhookReceiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBodyBytes) request.destroy();
      else chunks.push(chunk);
    });
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      print(describe(body, isSigned(body, request.headers['x-signature'], signingKey)));
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function isSigned(body: Buffer, signature: string | string[] | undefined, signingKey: string): boolean {
  const expected = createHmac('sha256', signingKey).update(body).digest();
  const given = Buffer.from(typeof signature === 'string' ? signature : '', 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function describe(body: Buffer, isValid: boolean): string {
  const verdict = isValid ? 'valid signature' : 'INVALID SIGNATURE';
  try {
    const { event, payload } = JSON.parse(body.toString()) as { event: string; payload: Record<string, unknown> };
    const about =
      event === 'transaction_update'
        ? `${payload.id} is ${payload.status}${payload.hash === null ? '' : `, hash ${payload.hash}`}`
        : JSON.stringify(payload);
    return `webhook (${verdict}): ${event}: ${about}`;
  } catch {
    return `webhook (${verdict}): ${body.length} bytes that are not an event`;
  }
}
