/** Thrown if the database server refuses the user, the password or the database of the URL. */
export class DatabaseRefusedError extends Error {
  override readonly name = 'DatabaseRefusedError';
}
