import { readFileSync, writeFileSync } from 'node:fs';
import { SolanaAccountChangeSchema } from '../../gen/relayer/v1/solana_pb.js';
import { StellarAccountChangeSchema } from '../../gen/relayer/v1/stellar_pb.js';
import { withAccountChangesTable } from './account-changes-table.js';
import { withPoliciesTable } from './policies-table.js';
import { withReasonsTable } from './reasons-table.js';
import { withSettingsTable } from './settings-table.js';
import { withOperationsReference } from './stellar-operations-page.js';

/* Writes the parts of docs/ that follow from the code and the definitions. A part of `npm run generate`. */

for (const [page, withItsTable] of [
  ['docs/configuration.md', (page: string) => withPoliciesTable(withSettingsTable(page))],
  ['docs/api.md', withReasonsTable],
  ['docs/solana.md', (page: string) => withAccountChangesTable(page, SolanaAccountChangeSchema)],
  ['docs/stellar-operations.md', withOperationsReference],
  ['docs/stellar.md', (page: string) => withAccountChangesTable(page, StellarAccountChangeSchema)],
] as const)
  writeFileSync(page, withItsTable(readFileSync(page, 'utf8')));
