import { KeystoreError } from './keystore-error.js';

/** What a keystore's text says. Throws `KeystoreError` `malformed`, which never quotes the text. */
export function valueFromKeystoreJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // The parser's own message would quote the file.
    throw new KeystoreError('malformed', 'the keystore is not JSON');
  }
}
