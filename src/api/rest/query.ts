import type { DescField } from '@bufbuild/protobuf';
import { restNameOf } from '../../codec/field-rules.js';
import type { Reading } from '../../codec/reading.js';
import { textReaderOf } from '../../codec/text-reader.js';
import type { Properties } from '../../codec/value-codec.js';
import { invalidField } from '../../core/errors.js';

/**
 * Compiles the reading of a query string into these fields; with none, every parameter is unknown. A parameter that is unknown, or not
 * percent-encoded properly, is told early; one that does not parse, or comes twice where its field is no list, is a problem of the reading.
 */
export function compileQuery(fields: readonly DescField[]): (query: string, target: Properties, reading: Reading) => void {
  const readers = new Map(fields.map((field) => [restNameOf(field), { field, read: textReaderOf(field) }]));
  return (query, target, reading) => {
    if (query === '') return;
    const seen = new Set<string>();
    for (const [name, text] of parametersOf(query)) {
      const reader = readers.get(name);
      if (reader === undefined) {
        reading.refuseUnknown('', name, readers.keys(), 'query parameter');
        continue;
      }
      const { field, read } = reader;
      const value = read(text, name, reading);
      if (field.fieldKind === 'list') {
        if (value !== undefined) (target[field.localName] as unknown[]).push(value);
      } else if (seen.has(name)) {
        reading.refuse(name, 'must be there only once');
      } else {
        if (value !== undefined) target[field.localName] = value;
        seen.add(name);
      }
    }
  };
}

function parametersOf(query: string): [name: string, value: string][] {
  return query
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const at = part.indexOf('=');
      return at === -1 ? [decoded(part), ''] : [decoded(part.slice(0, at)), decoded(part.slice(at + 1))];
    });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw invalidField('the query', 'must be percent-encoded UTF-8');
  }
}
