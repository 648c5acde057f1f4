/** Makes a signing key for webhooks in the form of Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export function newSigningKey(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
}

/** Makes a private key: 32 random bytes. */
export function newPrivateKey(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(32));
}
