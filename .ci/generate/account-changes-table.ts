import type { DescEnum } from '@bufbuild/protobuf';
import { comments } from '../../gen/comments.js';
import { enumTextsOf } from '../../src/codec/enum-codec.js';
import { withTable } from './page-table.js';

/** Returns the page with a new table of a network's account changes, from the comments of the definitions. */
export function withAccountChangesTable(page: string, changes: DescEnum): string {
  const rows = [...enumTextsOf(changes)].map(([number, text]) => {
    const comment = comments[`${changes.typeName}.${changes.value[number]?.name}`] ?? '';
    return `| \`${text}\` | ${comment.replace(/\n+/g, ' ')} |`;
  });
  return withTable(page, 'account changes', ['| Name | What it takes away |', '|---|---|', ...rows]);
}
