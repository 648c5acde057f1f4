import { stdSerializers } from 'pino';

/** Names of fields that hold secrets, lower case, without `_` and `-`: `signing_key`, `signingKey` and `X-Api-Key` are all found. */
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

/** Deeper than any line of ours; what lies below is not worth a walk through a cyclic object. */
const depthLimit = 6;

/** A copy of the fields of a log line in which every value under a well-known secret's name, at any depth, is `[redacted]`. */
export function withoutSecrets(fields: object): Record<string, unknown> {
  return copyOf(fields, 0);
}

function copyOf(fields: object, depth: number): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    // Assigned, this one would not become a field.
    if (name !== '__proto__') copy[name] = isSecret(name) ? '[redacted]' : plain(value, depth + 1);
  }
  return copy;
}

function plain(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= depthLimit) return '[too deep]';
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1));
  if (value instanceof Error) return copyOf(stdSerializers.err(value), depth);
  if (value instanceof Date) return value;
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  return copyOf(value, depth);
}

/** What was found of names: nearly all lines have the same few. */
const found = new Map<string, boolean>();
/** Others may choose names, in nested objects. */
const maxFound = 1_000;

function isSecret(name: string): boolean {
  const known = found.get(name);
  if (known !== undefined) return known;
  const secret = secretNames.has(name.toLowerCase().replace(/[_-]/g, ''));
  if (found.size < maxFound) found.set(name, secret);
  return secret;
}
