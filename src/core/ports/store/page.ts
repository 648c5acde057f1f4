/** A page of a list: `limit` items after `offset`, newest first. With `after`, only items older than the one with this id. */
export interface PageQuery {
  readonly offset: number;
  readonly limit: number;
  readonly after?: string;
}

/** The items of a page, and the number of items in the whole list. */
export interface PageOf<T> {
  readonly items: readonly T[];
  readonly total: number;
  /** Counting stopped at `total`, because a long list costs too much to count; the list has more items. Absent: `total` is exact. */
  readonly hasMore?: true;
}
