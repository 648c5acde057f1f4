import type { DescOneof } from '@bufbuild/protobuf';
import type { ObjectCodec } from './object-codec.js';
import type { Properties } from './value-codec.js';

/** What a message holds where it has a union. */
export interface Held {
  readonly case: string | undefined;
  readonly value?: unknown;
}

/** What a case writes: its `,"key":value`, or several. */
export type CaseWriter = (value: unknown) => string;

/** A union that is not set writes nothing. */
export function addCaseWriter(codec: ObjectCodec, oneof: DescOneof, writers: ReadonlyMap<string, CaseWriter>): void {
  codec.writers.push((message) => {
    const held = heldIn(message, oneof);
    return held.case === undefined ? '' : (writers.get(held.case)?.(held.value) ?? '');
  });
}

/** The union as the message holds it. */
export function heldIn(message: Properties, oneof: DescOneof): Held {
  return message[oneof.localName] as Held;
}
