/** Stands where a secret was. */
export const redacted = '[redacted]';

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

/** True for the name of a field whose value must not be shown. */
export function isSecret(name: string): boolean {
  return secretNames.has(name.toLowerCase().replace(/[_-]/g, ''));
}
