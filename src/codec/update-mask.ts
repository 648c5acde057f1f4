import type { DescMessage } from '@bufbuild/protobuf';
import type { FieldMask } from '@bufbuild/protobuf/wkt';
import { invalidField } from '../core/errors/errors.js';
import { shownName } from '../core/text/safe-text.js';

/**
 * Returns the paths of an update's mask by proto names; undefined if there is none, or an empty one. `changeable` are the fields that can
 * change; `*` names all of them. Paths may be in lowerCamelCase, as JSON has them. Throws `FIELD_INVALID`, naming a path that cannot
 * change.
 */
export function maskedPaths(desc: DescMessage, mask: FieldMask | undefined, changeable: readonly string[]): readonly string[] | undefined {
  if (mask === undefined || mask.paths.length === 0) return undefined;
  return mask.paths.flatMap((path) => {
    if (path === '*') return changeable;
    const [first = '', ...rest] = protoNamesOf(desc, path.split('.')) ?? [];
    if (changeable.includes(first)) return [first, ...rest].join('.');
    throw invalidField('update_mask', `has the path ${shownName(path)}, which cannot change; valid paths: *, ${changeable.join(', ')}`);
  });
}

function protoNamesOf(desc: DescMessage, [first, ...rest]: readonly string[]): readonly string[] | undefined {
  const field = desc.fields.find(({ name, jsonName }) => name === first || jsonName === first);
  if (field === undefined) return undefined;
  if (rest.length === 0) return [field.name];
  const inner = field.fieldKind === 'message' ? protoNamesOf(field.message, rest) : undefined;
  return inner && [field.name, ...inner];
}

/** The value of an update mask in protobuf JSON. Only a key is followed by a colon. */
const maskInJson = /("update_?[mM]ask"\s*:\s*")([^"\\]*)"/g;

/**
 * Returns protobuf JSON with the paths of its update mask in lowerCamelCase. Protobuf's own reader refuses proto names there, without
 * naming the path.
 */
export function withMaskInCamelCase(json: string): string {
  return json.replace(maskInJson, (_, start: string, paths: string) => `${start}${pathsInCamelCase(paths)}"`);
}

/** Returns the paths of an update mask in lowerCamelCase, as protobuf JSON has them. */
export function pathsInCamelCase(paths: string): string {
  return paths.replace(/_+(.?)/g, (_underscores, next: string) => next.toUpperCase());
}
