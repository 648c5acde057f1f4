import { setImmediate as nextTurn } from 'node:timers/promises';
import { DomainError, maxProblems, withFields } from './errors.js';

/**
 * True for a field whose value, or a part of it, was refused already. It is missing from what is checked, which must not become another
 * violation.
 */
export type IsRefused = (field: string) => boolean;

/** Nothing was refused. */
export const nothingRefused: IsRefused = () => false;

/**
 * Runs all reads and returns their results. Throws one error with the violations of all of them: the caller of a request should learn
 * everything at once. Stops at as many as an error can carry. An error that names no field is thrown at once.
 */
export function readAll<T extends Readonly<Record<string, () => unknown>>>(reads: T): { readonly [K in keyof T]: ReturnType<T[K]> } {
  // A copy, of which each read is replaced by its result: an object that gets its properties one by one takes several times as long.
  const values: Record<string, unknown> = { ...reads };
  readEach(Object.entries(reads), ([name, read]) => {
    values[name] = read();
  });
  return values as { readonly [K in keyof T]: ReturnType<T[K]> };
}

/** Reads every item, as `readAll` runs its reads. */
export function readEach<T, R>(items: readonly T[], read: (item: T, index: number) => R): readonly R[] {
  const reading = startReading(read);
  for (const [index, item] of items.entries()) reading.next(item, index);
  return reading.end();
}

/** Does the same, each item in a turn of its own, if the items cost much together. */
export async function readEachInTurn<T, R>(items: readonly T[], read: (item: T, index: number) => R): Promise<readonly R[]> {
  const reading = startReading(read);
  for (const [index, item] of items.entries()) {
    if (index > 0) await nextTurn();
    reading.next(item, index);
  }
  return reading.end();
}

function startReading<T, R>(read: (item: T, index: number) => R) {
  const values: R[] = [];
  let refusal: DomainError | null = null;
  return {
    next(item: T, index: number): void {
      try {
        values.push(read(item, index));
      } catch (error) {
        if (!isAboutFields(error)) throw error;
        refusal = refusal === null ? error : withFields(refusal, [...refusal.fields, ...error.fields]);
        if (refusal.fields.length >= maxProblems) throw refusal;
      }
    },
    end(): readonly R[] {
      if (refusal !== null) throw refusal;
      return values;
    },
  };
}

/** Returns the name under which the caller knows a field. Two fields of one name are one field. */
export type FieldName = (field: string) => string;

/**
 * Returns a refusal with the violations that `check` finds in other fields. The check gets a request without the values that were refused,
 * so it may also fail because they are missing: only violations of other fields count.
 */
export async function withFurther(
  refusal: DomainError,
  check: (isRefused: IsRefused) => unknown,
  nameOf: FieldName = (field) => field,
): Promise<DomainError> {
  if (refusal.fields.length === 0 || refusal.fields.length >= maxProblems) return refusal;
  try {
    await check(refusedBy(refusal, nameOf));
  } catch (error) {
    return isAboutFields(error) ? withOthers(refusal, error, nameOf) : refusal;
  }
  return refusal;
}

/** Returns a refusal with the violations of another one in other fields; undefined if there is neither. */
export function withOthers(refusal: DomainError, other: DomainError | undefined, nameOf: FieldName): DomainError;
export function withOthers(refusal: DomainError | null, other: DomainError | undefined, nameOf: FieldName): DomainError | undefined;
export function withOthers(refusal: DomainError | null, other: DomainError | undefined, nameOf: FieldName): DomainError | undefined {
  if (refusal === null || other === undefined) return refusal ?? other;
  const isRefused = refusedBy(refusal, nameOf);
  const further = other.fields.filter(({ field }) => !isRefused(field));
  return further.length === 0 ? refusal : withFields(refusal, [...refusal.fields, ...further]);
}

function refusedBy(refusal: DomainError, nameOf: FieldName): IsRefused {
  const names = refusal.fields.map(({ field }) => nameOf(field));
  return (field) => {
    const name = nameOf(field);
    return names.some((refused) => isWithin(refused, name) || isWithin(name, refused));
  };
}

/** Reads; a refusal gets the violations that `check` finds in other fields, as `withFurther` adds them. */
export async function orWithFurther<T>(read: () => T, check: (isRefused: IsRefused) => unknown): Promise<T> {
  try {
    return read();
  } catch (error) {
    throw isAboutFields(error) ? await withFurther(error, check) : error;
  }
}

function isAboutFields(error: unknown): error is DomainError {
  return error instanceof DomainError && error.kind === 'invalid' && error.fields.length > 0;
}

/** True if a path leads to a field, or to something in it. */
function isWithin(path: string, field: string): boolean {
  return path.startsWith(field) && (path.length === field.length || path[field.length] === '.' || path[field.length] === '[');
}
