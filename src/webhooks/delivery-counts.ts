/** What became of deliveries since the process started. Each try ends as one of the last three. */
export interface DeliveryCounts {
  /** Posts that were begun. */
  readonly posts: number;
  /** Answered 2xx. */
  readonly delivered: number;
  /** To be tried again. */
  readonly failed: number;
  /** Given up. */
  readonly dead: number;
}

/** The same while it counts. */
export type DeliveryCounters = { -readonly [Key in keyof DeliveryCounts]: number };

/** All at zero. */
export function createDeliveryCounters(): DeliveryCounters {
  return { posts: 0, delivered: 0, failed: 0, dead: 0 };
}
