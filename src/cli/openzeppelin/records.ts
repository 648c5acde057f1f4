import { JsonError, jsonFromText } from '../../json/json-reader.js';
import type { JsonObject } from '../../json/json-value.js';
import { CliError } from '../terminal/cli-error.js';
import type { StoredText } from './source.js';

/** The kinds of records that OpenZeppelin Relayer stores. */
const kinds = ['signer', 'notification', 'relayer', 'apikey', 'network', 'plugin'] as const;
export type RecordKind = (typeof kinds)[number];

/** A record of OpenZeppelin Relayer. */
export interface ForeignRecord {
  /** The full Redis key; version 2 of the encryption binds secrets to it. */
  readonly key: string;
  /** Networks have the form `evm:sepolia`. */
  readonly id: string;
  /** A text says why the record cannot be read. */
  readonly content: JsonObject | string;
}

/** The records of OpenZeppelin Relayer. */
export interface ForeignRecords {
  /** In the order of their ids. */
  of(kind: RecordKind): readonly ForeignRecord[];
  /** The number of transactions that OpenZeppelin Relayer may still send, by relayer. */
  readonly openTransactions: ReadonlyMap<string, number>;
}

/** Larger than any record of these kinds. */
const maxCharacters = 1024 * 1024;
const maxRecords = 100_000;
/** A transaction in another status keeps its nonce forever, or never had one. */
const openStatuses = ['pending', 'sent', 'submitted'];

type KeyMeaning = { readonly kind: RecordKind; readonly id: string } | { readonly transactionOf: string };

/** Returns the meaning of a key; undefined: an index, a lock or a counter. */
export function meaningOfKey(prefix: string, key: string): KeyMeaning | undefined {
  if (!key.startsWith(`${prefix}:`)) return undefined;
  const [first = '', id = '', third, ...rest] = key.slice(prefix.length + 1).split(':');
  if (first === 'relayer' && third === 'tx' && rest.length === 1) return { transactionOf: id };
  const kind = kinds.find((known) => known === first);
  if (kind === 'network') return third === undefined ? undefined : { kind, id: [id, third, ...rest].join(':') };
  return kind === undefined || id === '' || third !== undefined ? undefined : { kind, id };
}

/**
 * Collects the records. It does not need OpenZeppelin Relayer's indexes, which may differ from the records. A record that cannot be read is
 * in the result with the reason; a transaction that cannot be read counts as open.
 */
export async function collectRecords(texts: AsyncIterable<StoredText>, prefix: string): Promise<ForeignRecords> {
  const found = new Map<string, ForeignRecord & { readonly kind: RecordKind }>();
  const openIds = new Map<string, Set<string>>();
  for await (const [key, text] of texts) {
    const meaning = meaningOfKey(prefix, key);
    if (meaning === undefined) continue;
    if ('transactionOf' in meaning) {
      const { transactionOf } = meaning;
      if (isOpen(text)) openIds.set(transactionOf, (openIds.get(transactionOf) ?? new Set()).add(key));
      continue;
    }
    found.set(key, { ...meaning, key, content: contentFrom(text) });
    if (found.size > maxRecords) throw new CliError(`OpenZeppelin Relayer has more than ${maxRecords} records`);
  }
  if (found.size === 0) throw new CliError(`there are no records under the key prefix ${JSON.stringify(prefix)}; set --key-prefix`, 2);
  const all = [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    of: (kind) => all.filter((record) => record.kind === kind),
    openTransactions: new Map([...openIds].map(([relayerId, ids]) => [relayerId, ids.size])),
  };
}

function contentFrom(text: string): JsonObject | string {
  if (text.length > maxCharacters) return `is longer than ${maxCharacters} characters`;
  try {
    const value = jsonFromText(text);
    return value instanceof Map ? value : 'is not a JSON object';
  } catch (error) {
    if (error instanceof JsonError) return error.message;
    throw error;
  }
}

function isOpen(text: string): boolean {
  try {
    const { status } = JSON.parse(text) as { readonly status: unknown };
    return typeof status !== 'string' || openStatuses.includes(status);
  } catch {
    return true;
  }
}
