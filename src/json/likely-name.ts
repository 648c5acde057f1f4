/** The known name that is one letter off (one changed, added, missing, or two neighbours swapped), for a hint. */
export function likelyName(name: string, known: Iterable<string>): string | undefined {
  for (const candidate of known) {
    if (isOneOff(name, candidate)) return candidate;
  }
  return undefined;
}

function isOneOff(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || Math.max(a.length, b.length) < 3) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start += 1;
  const restA = a.slice(start);
  const restB = b.slice(start);
  if (restA.length !== restB.length) return restA.slice(1) === restB || restB.slice(1) === restA;
  const swapped = restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2);
  return swapped || restA.slice(1) === restB.slice(1);
}
