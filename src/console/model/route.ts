/** The values of a route's `:names`. */
export type RouteValues = Readonly<Record<string, string>>;

/**
 * Compares a location (`#/relayers/a/lane?from=7`) with a pattern (`/relayers/:id/lane`). Returns the values of its names, decoded, or null
 * if it does not match.
 */
export function matchRoute(pattern: string, location: string): RouteValues | null {
  const parts = pathOf(location).split('/');
  const expected = pattern.split('/');
  if (parts.length !== expected.length) return null;
  const values: Record<string, string> = {};
  for (const [index, part] of expected.entries()) {
    const found = parts[index] ?? '';
    if (!part.startsWith(':')) {
      if (part !== found) return null;
      continue;
    }
    const value = decoded(found);
    if (value === null || value === '') return null;
    values[part.slice(1)] = value;
  }
  return values;
}

/** Returns the path of a location: without `#`, query and a slash at its end. */
export function pathOf(location: string): string {
  const [path = ''] = location.replace(/^#/, '').split('?');
  const trimmed = path.replace(/\/+$/, '');
  return trimmed === '' ? '/' : trimmed;
}

/**
 * Returns the query of a location, such as the filters of a list: it belongs to the address, so that a colleague who gets the link sees the
 * same.
 */
export function queryOf(location: string): URLSearchParams {
  return new URLSearchParams(location.split('?')[1] ?? '');
}

/** Writes a location from path parts, which it encodes, and a query. */
export function locationTo(parts: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const set = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '');
  const text = new URLSearchParams(set).toString();
  return `#/${parts.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
