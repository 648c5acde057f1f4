/** What other instances may have changed. */
export interface News {
  /** Ids of relayers whose transactions changed; `all`: it is unknown which, because notifications were missed. */
  readonly relayers: ReadonlySet<string> | 'all';
  /** There may be new webhook events. */
  readonly hasEvents: boolean;
  /** Relayers, signers, networks, notifications or API keys may have changed. */
  readonly hasDefinitions: boolean;
}

/** All news, after notifications were missed. */
export const allNews: News = { relayers: 'all', hasEvents: true, hasDefinitions: true };

/** What an instance tells the others. */
export interface Message {
  /** The number of the instance that sent it. */
  readonly from: number;
  readonly news: News;
  /** Instances or leases have changed. */
  readonly hasLeases: boolean;
}
