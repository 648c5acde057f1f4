/** Encrypts secrets that are stored. What is sealed for one purpose cannot be opened for another. */
export interface SecretBox {
  /** `purpose` binds the result to where it is stored (`notification:<id>`). */
  seal(plainText: string, purpose: string): string;
  /** Throws when the text was changed, sealed for another purpose or under another key; never falls back to plain text. */
  open(sealed: string, purpose: string): string;
  /** 64 hex digits that only the same bytes have, and that without the key tell nothing of them: guesses cannot be tried on a stolen database. */
  digest(bytes: Uint8Array, purpose: string): string;
}
