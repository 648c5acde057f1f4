/** The settings of a PostgreSQL server that decide whether an answered commit can get lost. */
export interface Durability {
  /** Off: a crash of the machine loses commits. */
  readonly fsync: boolean;
  /** Off: a crash of the machine can damage tables. */
  readonly full_page_writes: boolean;
  /** Commits wait for a standby; without that, a failover loses the last ones. */
  readonly synchronous_standby_names: boolean;
}

/** The settings of a database whose answered commits are kept, such as SQLite's. */
export const durable: Durability = { fsync: true, full_page_writes: true, synchronous_standby_names: true };

/** What is wrong with the settings of a server whose commits can get lost. */
const dangers: { readonly [Key in keyof Durability]: string } = {
  fsync: 'fsync is off: a crash of the database server loses commits that it had answered; set it to on',
  full_page_writes: 'full_page_writes is off: a crash of the database server can damage tables; set it to on',
  synchronous_standby_names:
    'synchronous_standby_names is empty: a failover loses the last commits, and then signing stops until relayer restore was run; add a synchronous standby',
};

/** Returns whether answered commits can get lost with each setting. One instance needs no standby to go on. */
export function unsafeSettings(durability: Durability, instances: number): ReadonlyMap<keyof Durability, boolean> {
  const names = Object.keys(dangers) as (keyof Durability)[];
  return new Map(names.map((name) => [name, !durability[name] && (name !== 'synchronous_standby_names' || instances > 1)]));
}

/** Returns a sentence for each setting with which answered commits can get lost. */
export function dangersOf(durability: Durability, instances: number): readonly string[] {
  return [...unsafeSettings(durability, instances)].flatMap(([name, isUnsafe]) => (isUnsafe ? [dangers[name]] : []));
}
