import type { DescField } from '@bufbuild/protobuf';
import { fieldRulesOf } from '../../codec/field-rules.js';
import type { Properties, Reading } from '../../codec/reading.js';

/** The header that REST callers guard a change with: a revision in quotes, or `*` for any. */
export const ifMatchPattern = /^(?:"(\d{1,18})"|\*)$/;

/** Reads the values of `If-Match` into the field of the request that takes it. Other requests ignore the header, as HTTP demands. */
export function compileIfMatch(fields: readonly DescField[]): (values: readonly string[], target: Properties, reading: Reading) => void {
  const field = fields.find((one) => fieldRulesOf(one).ifMatch);
  if (field === undefined) return () => undefined;
  return (values, target, reading) => {
    const [value] = values;
    if (value === undefined) return;
    const match = values.length === 1 ? ifMatchPattern.exec(value) : null;
    if (match === null) reading.refuse('If-Match', 'must be one revision in quotes, such as "3", or *');
    else if (match[1] !== undefined) target[field.localName] = BigInt(match[1]);
  };
}
