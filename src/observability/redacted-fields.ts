import { stdSerializers } from 'pino';

/** Replaces a secret. */
export const redacted = '[redacted]';

/** Names of fields that hold secrets, lower case and without `_` and `-`, so that `signing_key`, `signingKey` and `X-Api-Key` all match. */
const secretNames: ReadonlySet<string> = new Set([
  'apikey',
  'authorization',
  'cookie',
  'mnemonic',
  'passphrase',
  'password',
  'privatekey',
  'proxyauthorization',
  'sealedsigningkey',
  'secret',
  'setcookie',
  'signingkey',
  'storageencryptionkey',
  'xapikey',
]);

/** No log line of ours is deeper; the limit ends the walk through a cyclic object. */
const depthLimit = 6;

/** True for the name of a field whose value must not be logged. */
export function isSecret(name: string): boolean {
  return secretNames.has(name.toLowerCase().replace(/[_-]/g, ''));
}

/** Copies the fields of a log line and replaces every value under a secret's name, at any depth, with `[redacted]`. */
export function redactedFields(fields: object): Record<string, unknown> {
  return copyOf(fields, 0);
}

function copyOf(fields: object, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    // Assigning `__proto__` would set the prototype instead of a field.
    if (name !== '__proto__') copy[name] = isSecret(name) ? redacted : plain(value, depth + 1);
  }
  return copy;
}

function plain(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= depthLimit) return '[too deep]';
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1));
  if (value instanceof Error) return copyOf({ ...stdSerializers.err(value), message: messageOf(value, depth) }, depth);
  if (value instanceof Date) return value;
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  return copyOf(value, depth);
}

/** Returns the message, and behind it the messages of causes that it does not quote: most of our errors quote the driver's. */
function messageOf({ message, cause }: Error, depth: number): string {
  if (!(cause instanceof Error) || depth >= depthLimit) return message;
  const rest = messageOf(cause, depth + 1);
  return message.includes(rest) ? message : `${message}: ${rest}`;
}
