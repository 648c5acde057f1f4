/** Makes ids, injected so that tests can foresee them. */
export interface Ids {
  /** UUID v7: in order of time, so that a large table's index grows at its end. */
  timeOrdered(): string;
  /** UUID v4. */
  random(): string;
}
