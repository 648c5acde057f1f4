/** An entry of the list: a name, also in quotes, or `*` for each standby. */
const entry = /"((?:[^"]|"")+)"|[^\s,"]+/g;
const counted = /^\s*(?:(?:first|any)\s+)?(\d+)\s*\((.*)\)\s*$/is;

/**
 * Returns true if a commit waits for each standby that `synchronous_standby_names` names. Only then a server on which commits are answered
 * proves that none of these has been promoted: with `FIRST 1 (a, b)`, one of them can take over while the other one still answers for the
 * earlier primary. `*` names none, and a standby that is not named can always be promoted without the last commits.
 */
export function waitsForEach(standbyNames: string): boolean {
  const [, count = '1', list = standbyNames] = counted.exec(standbyNames) ?? [];
  const names = list.match(entry)?.map((name) => name.replace(/^"(.*)"$/s, '$1')) ?? [];
  return names.length > 0 && !names.includes('*') && names.length <= Number(count);
}
