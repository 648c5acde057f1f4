/** The name among `known` that is one letter off: one put in, left out or changed. */
export function likelyName(name: string, known: Iterable<string>): string | undefined {
  for (const candidate of known) {
    if (isOneLetterOff(name, candidate)) return candidate;
  }
  return undefined;
}

function isOneLetterOff(left: string, right: string): boolean {
  if (Math.abs(left.length - right.length) > 1) return false;
  let at = 0;
  while (at < left.length && at < right.length && left[at] === right[at]) at += 1;
  const afterLeft = left.slice(at + (left.length >= right.length ? 1 : 0));
  const afterRight = right.slice(at + (right.length >= left.length ? 1 : 0));
  return left !== right && afterLeft === afterRight;
}
