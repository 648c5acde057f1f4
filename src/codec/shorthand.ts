import { create, type DescMessage } from '@bufbuild/protobuf';
import type { CodecCompiler } from './message-codec.js';
import type { Properties, ValueCodec } from './value-codec.js';

/** A field that stands for the whole message where nothing else is set (`"https://..."` for `{"url":"https://..."}`). Throws where the message has no such field. */
export function withShorthand(codec: ValueCodec, desc: DescMessage, name: string, compiler: CodecCompiler): ValueCodec {
  const field = desc.fields.find((one) => one.name === name);
  if (field === undefined || desc.oneofs.length > 0)
    throw new Error(`${desc} has the shorthand ${name}, which needs a field of that name and no union`);
  const isList = field.fieldKind === 'list';
  const inner = compiler.field(field);
  const others = desc.fields.filter((one) => one !== field);
  const isUnsequenced = (message: Properties) =>
    message[field.localName] !== undefined && others.every((one) => isUnset(message[one.localName]));
  return {
    read(value, path, reading) {
      if (value instanceof Map) return codec.read(value, path, reading);
      if (isList && !Array.isArray(value)) return reading.refuse(path, 'must be an array or an object');
      const read = inner.read(value, path, reading);
      if (read === undefined) return undefined;
      const message = create(desc) as unknown as Properties;
      message[field.localName] = read;
      return message;
    },
    write: (value) => (isUnsequenced(value as Properties) ? inner.write((value as Properties)[field.localName]) : codec.write(value)),
  };
}

function isUnset(value: unknown): boolean {
  return (
    value === undefined || value === '' || value === 0 || value === 0n || value === false || (Array.isArray(value) && value.length === 0)
  );
}
