import type { JsonObject } from '../json/json-value.js';
import type { ObjectCodec } from './object-codec.js';
import type { Reading } from './reading.js';

/**
 * The paths of a merge patch's `update_mask`: the fields whose keys are there, with `null` to remove them. A union under a key of its own is
 * merged too: each of its keys is a path (`evm.min_balance`), `null` is the whole of it (`evm`).
 */
export function maskPathsOf(codec: ObjectCodec, object: JsonObject, reading: Reading): string[] {
  const paths: string[] = [];
  for (const [key, value] of object) {
    const member = codec.keys.get(key);
    if (member?.fieldName != null) paths.push(member.fieldName);
    const shape = member?.union?.choose(reading, { object, prefix: '' });
    if (shape === undefined) continue;
    if (value === null) paths.push(shape.fieldName);
    if (!(value instanceof Map)) continue;
    for (const inner of value.keys()) {
      const fieldName = shape.codec.keys.get(inner)?.fieldName;
      if (fieldName != null) paths.push(`${shape.fieldName}.${fieldName}`);
    }
  }
  return paths;
}
