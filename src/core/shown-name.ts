/** More than any of ours has. */
const maxCharacters = 64;

/** An id or a name that the caller made up, as it is said back: its first 64 characters, whole ones; half of a surrogate pair is shown as U+FFFD. */
export function shownName(name: string): string {
  const start = Array.from(name.slice(0, 2 * maxCharacters)).slice(0, maxCharacters);
  return start.join('').replace(/\p{Surrogate}/gu, '\uFFFD');
}
