/** An entry that the configuration file wrote, and its revision then. At another revision, the API has changed it since. */
export interface FileEntry {
  readonly kind: 'notification';
  readonly id: string;
  readonly revision: number;
}

/** The API's definition of a relayer, signer, network or plugin. It overrides the configuration file's entry with the same id. */
export interface Definition {
  readonly kind: 'relayer' | 'signer' | 'network' | 'pinned_key' | 'plugin';
  readonly id: string;
  /** Plain data without secrets, in the form of its kind; null: the API deleted the file's entry. */
  readonly content: object | null;
  /** Its secrets, sealed for the purpose `<kind>:<id>`; null: none. */
  readonly sealed: string | null;
}
