import { textIn } from '../../config/file-entries.js';
import { isEntryId } from '../../core/text/entry-id.js';
import type { JsonObject } from '../../json/json-value.js';
import type { ForeignRecord } from './records.js';

/** The decision on a record: it moves as `value`, it is here already, or it cannot move. The note says why, and what to do. */
export type Verdict<T> =
  | { readonly outcome: 'moves'; readonly value: T; readonly note: string }
  | { readonly outcome: 'is here' | 'cannot move'; readonly note: string };

/** A record that can be read. */
export interface ReadableRecord {
  readonly key: string;
  readonly id: string;
  readonly content: JsonObject;
}

/** The verdicts on the records of a kind, by id. */
export type Verdicts<T> = Map<string, Verdict<T>>;

export function moves<T>(value: T, note = ''): Verdict<T> {
  return { outcome: 'moves', value, note };
}

export function isHere(note: string): Verdict<never> {
  return { outcome: 'is here', note };
}

export function cannotMove(note: string): Verdict<never> {
  return { outcome: 'cannot move', note };
}

/** Judges every record; one that cannot be read cannot move. */
export async function judgeAll<T>(
  records: readonly ForeignRecord[],
  judge: (record: ReadableRecord) => Verdict<T> | Promise<Verdict<T>>,
): Promise<Verdicts<T>> {
  const verdicts: Verdicts<T> = new Map();
  for (const { key, id, content } of records) {
    if (typeof content === 'string') verdicts.set(id, cannotMove(`its record ${content}`));
    else if (!isEntryId(id) || textIn(content, 'id') !== id) verdicts.set(id, cannotMove('its record has another id, or an invalid one'));
    else verdicts.set(id, await judge({ key, id, content }));
  }
  return verdicts;
}

/** Returns the values that move. */
export function moving<T>(verdicts: Verdicts<T>): readonly T[] {
  return [...verdicts.values()].flatMap((verdict) => (verdict.outcome === 'moves' ? [verdict.value] : []));
}
