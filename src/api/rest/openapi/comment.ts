import type { DescEnum, DescEnumValue, DescField, DescMessage, DescMethod, DescOneof, DescService } from '@bufbuild/protobuf';
import { comments } from '../../../../gen/comments.js';

/** The comment of a definition, its lines joined to paragraphs; empty where it has none. */
export function commentOf(desc: DescEnum | DescEnumValue | DescField | DescMessage | DescMethod | DescOneof | DescService): string {
  return (comments[nameOf(desc)] ?? '').replace(/([^\n])\n(?!\n)/g, '$1 ');
}

/** The first sentence of a comment. */
export function firstSentenceOf(comment: string): string {
  return /^.*?[.:](?=\s|$)/.exec(comment)?.[0].replace(/[.:]$/, '') ?? comment;
}

function nameOf(desc: Parameters<typeof commentOf>[0]): string {
  switch (desc.kind) {
    case 'enum':
    case 'message':
    case 'service':
      return desc.typeName;
    default:
      return `${desc.parent.typeName}.${desc.name}`;
  }
}
