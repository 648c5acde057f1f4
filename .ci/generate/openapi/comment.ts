import type { DescEnum, DescEnumValue, DescField, DescMessage, DescMethod, DescOneof, DescService } from '@bufbuild/protobuf';
import { comments } from '../../../gen/comments.js';

/** Returns the comment of a definition, one line per paragraph; empty if it has none. Use it for descriptions only: no rule may depend on prose. */
export function commentOf(desc: DescEnum | DescEnumValue | DescField | DescMessage | DescMethod | DescOneof | DescService): string {
  return (comments[nameOf(desc)] ?? '').replace(/([^\n])\n(?!\n)/g, '$1 ');
}

/** Returns the first sentence of a comment, without its full stop. */
export function firstSentenceOf(comment: string): string {
  return /^.*?[.:](?=\s|$)/.exec(comment)?.[0].replace(/[.:]$/, '') ?? comment;
}

function nameOf(desc: Parameters<typeof commentOf>[0]): string {
  return 'typeName' in desc ? desc.typeName : `${desc.parent.typeName}.${desc.name}`;
}
