import { type DescEnumValue, type DescField, getOption } from '@bufbuild/protobuf';
import { comments } from '../../../gen/comments.js';
import { field as fieldOption } from '../../../gen/relayer/rest/v1/options_pb.js';

/** Sentences about how programs write a value, which forms write otherwise: amounts in units of the operator's choice, lists as lines. */
const aboutPrograms = /^(In (wei|stroops|lamports|units|REST|JSON)|Empty means)\b/;

/**
 * Returns the help of a form's field: the comment of its definition, without what is for programs only. Throws if the bundle does not
 * contain the comment.
 */
export function helpOf(desc: DescField | DescEnumValue): string {
  const name = `${desc.parent.typeName}.${desc.name}`;
  const comment = comments[name];
  if (comment === undefined) throw new Error(`no comment of ${name}; see .ci/build-console.ts`);
  const sentences = comment.replaceAll('\n', ' ').split(/(?<=[.;]) (?=[A-Z])/);
  const text = sentences
    .filter((sentence) => !aboutPrograms.test(sentence))
    .join(' ')
    .replaceAll('`', '')
    .replace(/\bAbsent( or empty)?\b/g, 'Empty');
  if (desc.kind !== 'field') return text;
  if (desc.fieldKind === 'list' && desc.scalar !== undefined) return `${text} Separate them by spaces or lines.`;
  const { hex, length } = getOption(desc, fieldOption);
  return hex && length > 0 ? `${text} Enter ${2 * length} hex digits.` : text;
}
