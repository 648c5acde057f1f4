/** Encrypts stored secrets. A text sealed for one purpose cannot be opened for another. */
export interface SecretBox {
  /** `purpose` binds the result to the row that stores it (`notification:<id>`). */
  seal(plainText: string, purpose: string): string;
  /** Throws if the text was changed, or sealed for another purpose or under another key. Never falls back to plain text. */
  open(sealed: string, purpose: string): string;
}
