import { type DescEnum, type DescEnumValue, getOption } from '@bufbuild/protobuf';
import { text as textOption } from '../../gen/relayer/rest/v1/options_pb.js';
import type { ValueCodec } from './reading.js';

/** Returns the REST texts of an enum's values by their numbers, in the enum's order; without zero, which means not set. */
export function enumTextsOf(desc: DescEnum): ReadonlyMap<number, string> {
  const texts = new Map(desc.values.filter((value) => value.number !== 0).map((value) => [value.number, textOf(desc, value)]));
  if (desc.value[0]?.name.endsWith('_UNSPECIFIED') !== true) throw new Error(`${desc.typeName} has no unspecified value as its zero`);
  if (new Set(texts.values()).size !== desc.values.length - 1)
    throw new Error(`${desc.typeName} has two values with one text or one number`);
  return texts;
}

function textOf(desc: DescEnum, value: DescEnumValue): string {
  const explicit = getOption(value, textOption);
  if (explicit !== '') return explicit;
  const prefix = desc.sharedPrefix?.length ?? 0;
  return value.name
    .slice(prefix)
    .toLowerCase()
    .replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the codec of an enum: its texts, in their exact case. */
export function enumCodec(desc: DescEnum): ValueCodec {
  const texts = enumTextsOf(desc);
  const numbers = new Map([...texts].map(([number, text]) => [text, number]));
  const description = enumDescription(texts);
  return {
    read: (value, path, reading) => (typeof value === 'string' ? numbers.get(value) : undefined) ?? reading.refuse(path, description),
    write: (value) => JSON.stringify(texts.get(value as number) ?? null),
  };
}

/** Describes the valid texts of an enum, for errors. */
export function enumDescription(texts: ReadonlyMap<number, string>): string {
  return `must be one of ${[...texts.values()].join(', ')}`;
}
