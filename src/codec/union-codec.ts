import type { DescOneof } from '@bufbuild/protobuf';
import { addCaseWriter, type CaseWriter, heldIn } from './case-writer.js';
import { restNameOf, unionRulesOf } from './field-rules.js';
import type { CodecCompiler } from './message-codec.js';
import { addKey, type ObjectCodec } from './object-codec.js';
import { addShapeUnion, networkUnion, siblingUnion } from './shape-union.js';
import { addTagAndContent, addTaggedUnion } from './tagged-union.js';

/** Adds a union's keys and writer to the codec of its message. Throws where its options make no sense. */
export function addUnion(codec: ObjectCodec, oneof: DescOneof, compiler: CodecCompiler): void {
  const { selector, content, under } = unionRulesOf(oneof);
  if (content !== '' && selector.case !== 'tag') throw new Error(`${oneof} has content, which needs a tag`);
  if (under !== '' && selector.case !== 'sibling' && selector.case !== 'relayerNetwork') {
    throw new Error(`${oneof} has under, which needs a sibling or the relayer's network`);
  }
  switch (selector.case) {
    case undefined:
      addPlainUnion(codec, oneof, compiler);
      return;
    case 'relayerNetwork':
      addShapeUnion(codec, oneof, networkUnion(oneof, selector.value, compiler), under);
      return;
    case 'sibling':
      addShapeUnion(codec, oneof, siblingUnion(oneof, selector.value, compiler), under);
      return;
    case 'tag':
      if (content === '') addTaggedUnion(codec, oneof, selector.value, compiler);
      else addTagAndContent(codec, oneof, selector.value, content, compiler);
  }
}

/** Each case is a key; at most one may be there. */
function addPlainUnion(codec: ObjectCodec, oneof: DescOneof, compiler: CodecCompiler): void {
  const writers = new Map<string, CaseWriter>();
  for (const field of oneof.fields) {
    const key = restNameOf(field);
    const value = compiler.value(field);
    addKey(codec, key, {
      fieldName: field.name,
      read(target, json, path, reading) {
        if (json === null && value.readsNull !== true) return;
        if (heldIn(target, oneof).case !== undefined)
          reading.refuse(path, `cannot be together with another of ${oneof.fields.map(restNameOf).join(', ')}`);
        const read = value.read(json, path, reading);
        if (read !== undefined) target[oneof.localName] = { case: field.localName, value: read };
      },
    });
    writers.set(field.localName, (held) => `,${JSON.stringify(key)}:${value.write(held)}`);
  }
  addCaseWriter(codec, oneof, writers);
}
