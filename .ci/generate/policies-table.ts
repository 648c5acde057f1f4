import type { DescField } from '@bufbuild/protobuf';
import { comments } from '../../gen/comments.js';
import { EvmPoliciesSchema } from '../../gen/relayer/v1/evm_pb.js';
import { SolanaPoliciesSchema } from '../../gen/relayer/v1/solana_pb.js';
import { StellarPoliciesSchema } from '../../gen/relayer/v1/stellar_pb.js';
import { restNameOf } from '../../src/codec/field-rules.js';
import { withTable } from './page-table.js';

const networks = [
  ['EVM', EvmPoliciesSchema],
  ['Stellar', StellarPoliciesSchema],
  ['Solana', SolanaPoliciesSchema],
] as const;

/** Returns the page with a new table of the policies of relayers, from the comments of the definitions. */
export function withPoliciesTable(page: string): string {
  const rows = networks.flatMap(([network, { fields }]) =>
    fields.map((field) => `| ${network} | \`${restNameOf(field)}\` | ${meaningOf(field)} |`),
  );
  return withTable(page, 'policies', ['| Network | Policy | Meaning |', '|---|---|---|', ...rows]);
}

function meaningOf(field: DescField): string {
  const comment = comments[`${field.parent.typeName}.${field.name}`] ?? '';
  return comment.replace(/\n+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
