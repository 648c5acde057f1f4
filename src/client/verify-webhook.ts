/** Headers as Node.js has them, with names in lower case, or as fetch has them. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A webhook outside this window may be a recorded one. */
const replayWindowSeconds = 5 * 60;

/**
 * Verifies a webhook and returns its event. Throws if it is not genuine.
 *
 * @param signingKey the notification's `signing_key`
 * @param body the exact bytes received, or their text. Parse them only after this.
 */
export async function verifyWebhook(
  signingKey: string,
  headers: WebhookHeaders,
  body: Uint8Array | string,
  nowMs: number = Date.now(),
): Promise<unknown> {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature');
  if (id === null || timestamp === null || signatures === null) throw new Error('the webhook is not signed');
  if (!/^[0-9]{1,12}$/.test(timestamp)) throw new Error('webhook-timestamp is not a number');
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > replayWindowSeconds) {
    throw new Error(`webhook-timestamp ${timestamp} differs from the clock by more than ${replayWindowSeconds} s`);
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const secret = signingKey.startsWith('whsec_') ? bytesOfBase64(signingKey.slice('whsec_'.length)) : new TextEncoder().encode(signingKey);
  if (secret === null || secret.length === 0) throw new Error('the signing key is not "whsec_" and base64');
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  const signed = concatenated(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  // During a key rotation there is one signature for each key. One match is enough.
  for (const entry of signatures.split(' ')) {
    const signature = entry.startsWith('v1,') ? bytesOfBase64(entry.slice('v1,'.length)) : null;
    // It compares in constant time.
    if (signature !== null && (await crypto.subtle.verify('HMAC', key, signature, signed)))
      return JSON.parse(new TextDecoder().decode(bytes));
  }
  throw new Error('no signature of the webhook matches');
}

function headerOf(headers: WebhookHeaders, name: string): string | null {
  if (headers instanceof Headers) return headers.get(name);
  const value = headers[name];
  return typeof value === 'string' ? value : null;
}

/** Returns the bytes; null: the text is not base64. */
function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function concatenated(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
