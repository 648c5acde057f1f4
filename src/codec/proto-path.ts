import type { DescField, DescMessage, DescOneof } from '@bufbuild/protobuf';
import { fieldRulesOf, messageRulesOf, restNameOf, unionRulesOf } from './field-rules.js';
import { type Held, heldIn } from './object-codec.js';
import type { Properties } from './reading.js';

/** A part of a path: a name, and the indices behind it (`args[1]`). */
interface Segment {
  readonly name: string;
  readonly indices: readonly number[];
}

/**
 * Returns the path of a request's field by its proto names (`evm.value`) from its REST path (`value`). In REST the fields of a union's case
 * replace the union, so the case that the message holds is part of the path. Returns the path unchanged if it names no field.
 */
export function protoPathOf(desc: DescMessage, message: object, restPath: string): string {
  const segments = restPath.split('.').map((part): Segment => {
    const [name = '', ...indices] = part.split(/\]?\[|\]/);
    return { name, indices: indices.filter((text) => text !== '').map(Number) };
  });
  return pathIn(desc, message as Properties, segments)?.join('.') ?? restPath;
}

function pathIn(desc: DescMessage, message: Properties | undefined, segments: readonly Segment[]): readonly string[] | undefined {
  const [first, ...rest] = segments;
  if (first === undefined) return [];
  for (const member of desc.members) {
    const path =
      member.kind === 'oneof'
        ? pathInUnion(member, message && heldIn(message, member), first, rest)
        : restNameOf(member) === first.name
          ? pathBehind(member, message?.[member.localName], first.indices, rest)
          : undefined;
    if (path !== undefined) return path;
  }
  return undefined;
}

function pathInUnion(oneof: DescOneof, held: Held | undefined, first: Segment, rest: readonly Segment[]): readonly string[] | undefined {
  const { selector, content, under } = unionRulesOf(oneof);
  const chosen = oneof.fields.find(({ localName }) => localName === held?.case);
  if (selector.case === undefined) {
    const named = oneof.fields.find((field) => restNameOf(field) === first.name);
    return named && pathBehind(named, named === chosen ? held?.value : undefined, first.indices, rest);
  }
  // The tag has no field of its own: it is the choice of a case.
  if (selector.case === 'tag' && selector.value === first.name) return [oneof.name];
  const key = content || under;
  if (key !== '' && key !== first.name) return undefined;
  if (chosen === undefined) return key === '' ? undefined : [oneof.name];
  if (key !== '') return pathBehind(chosen, held?.value, first.indices, rest);
  const inner = chosen.message && pathIn(chosen.message, held?.value as Properties, [first, ...rest]);
  return inner && [chosen.name, ...inner];
}

/** Returns the path of a field and of what follows it. An index behind a message belongs to the list that stands for it in REST. */
function pathBehind(field: DescField, value: unknown, indices: readonly number[], rest: readonly Segment[]): readonly string[] | undefined {
  const [index, ...more] = indices;
  if (field.message === undefined) {
    // What is inside a JSON text has the same path everywhere.
    if (rest.length > 0 && !fieldRulesOf(field).json) return undefined;
    return [{ name: field.name, indices }, ...rest].map((part) => part.name + part.indices.map((at) => `[${at}]`).join(''));
  }
  const isList = field.fieldKind === 'list';
  if (isList && index === undefined) return rest.length === 0 ? [field.name] : undefined;
  const name = isList ? `${field.name}[${index}]` : field.name;
  const item = (isList ? (value as unknown[] | undefined)?.[index ?? 0] : value) as Properties | undefined;
  const left = isList ? more : indices;
  if (left.length === 0) {
    const inner = pathIn(field.message, item, rest);
    return inner && [name, ...inner];
  }
  const { shorthand } = messageRulesOf(field.message);
  const list = field.message.fields.find((one) => one.name === shorthand);
  const inner = list && pathBehind(list, item?.[list.localName], left, rest);
  return inner && [name, ...inner];
}
