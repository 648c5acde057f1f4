import { clearField, type DescField, type DescMessage, type Message, toBinary } from '@bufbuild/protobuf';
import { fieldRulesOf } from '../../codec/field-rules.js';

const withoutEffect = new WeakMap<DescMessage, readonly DescField[]>();

/**
 * Encodes a request without the fields that do not change its effect: the idempotency key, and what its caller wants to wait for. Equal
 * requests have equal bytes, wherever the caller puts its key.
 */
export function effectBytes(input: DescMessage, message: Message): Uint8Array {
  let fields = withoutEffect.get(input);
  if (fields === undefined) {
    fields = input.fields.filter((field) => field.name === 'idempotency_key' || fieldRulesOf(field).prefer !== '');
    withoutEffect.set(input, fields);
  }
  const rest = Object.assign(Object.create(Object.getPrototypeOf(message)), message) as Message;
  for (const field of fields) clearField(rest, field);
  return toBinary(input, rest, { writeUnknownFields: false });
}
