import { readFileSync, writeFileSync } from 'node:fs';
import { withPoliciesTable } from './policies-table.js';
import { withReasonsTable } from './reasons-table.js';
import { withSettingsTable } from './settings-table.js';

/* Writes the parts of docs/ that follow from the code and the definitions. A part of `npm run generate`. */

for (const [page, withItsTable] of [
  ['docs/configuration.md', (page: string) => withPoliciesTable(withSettingsTable(page))],
  ['docs/api.md', withReasonsTable],
] as const)
  writeFileSync(page, withItsTable(readFileSync(page, 'utf8')));
