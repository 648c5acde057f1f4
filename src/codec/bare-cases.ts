import { create, type DescMessage } from '@bufbuild/protobuf';
import type { Properties, ValueCodec } from './value-codec.js';

/** Cases of a message's only union that are written as their bare name (`"void"`). Throws where the message has more, or they are no empty messages. */
export function withBareCases(codec: ValueCodec, desc: DescMessage, names: readonly string[]): ValueCodec {
  const [oneof, ...others] = desc.members;
  if (oneof?.kind !== 'oneof' || others.length > 0) throw new Error(`${desc} has bare cases, which need one union and nothing beside it`);
  const cases = new Map(
    names.map((name) => {
      const field = oneof.fields.find((one) => one.name === name);
      if (field?.message?.fields.length !== 0) throw new Error(`${desc} has the bare case ${name}, which is no empty message of its union`);
      return [name, { caseName: field.localName, desc: field.message }] as const;
    }),
  );
  const texts = new Map([...cases].map(([name, { caseName }]) => [caseName, JSON.stringify(name)]));
  const description = `must be an object or ${[...texts.values()].join(' or ')}`;
  return {
    read(value, path, reading) {
      if (value instanceof Map) return codec.read(value, path, reading);
      const bare = typeof value === 'string' ? cases.get(value) : undefined;
      if (bare === undefined) return reading.refuse(path, description);
      const message = create(desc) as unknown as Properties;
      message[oneof.localName] = { case: bare.caseName, value: create(bare.desc) };
      return message;
    },
    write(value) {
      const held = (value as Properties)[oneof.localName] as { readonly case: string | undefined };
      return texts.get(held.case ?? '') ?? codec.write(value);
    },
  };
}
