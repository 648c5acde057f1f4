import { isSecret, redacted } from './secret-names.js';

/** The start of a field's text, or the whole of it where it is a secret: made once for each name, since nearly all lines have the same few. */
const known = new Map<string, { readonly text: string; readonly secret: boolean }>();
/** Names may also come from outside. */
const maxKnown = 1_000;

/**
 * The JSON fields (`,"name":value` of each) of a line that holds nothing but texts, numbers and the like, as nearly all do; null for others. It
 * says exactly what pino would, at a third of the cost, which counts for the line that every request has.
 */
export function flatFieldsText(fields: object): string | null {
  let text = '';
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const field = fieldOf(name);
    const valueText = flatValueText(value);
    if (valueText === null) return null;
    text += field.secret ? field.text : field.text + valueText;
  }
  return text;
}

function flatValueText(value: unknown): string | null {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'number':
      return Number.isFinite(value) ? String(value) : 'null';
    case 'bigint':
      return `"${value}"`;
    default:
      return value === null ? 'null' : null;
  }
}

function fieldOf(name: string): { readonly text: string; readonly secret: boolean } {
  const found = known.get(name);
  if (found !== undefined) return found;
  const secret = isSecret(name);
  const made = { secret, text: `,${JSON.stringify(name)}:${secret ? `"${redacted}"` : ''}` };
  if (known.size < maxKnown) known.set(name, made);
  return made;
}
