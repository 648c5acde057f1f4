import { readFileSync, writeFileSync } from 'node:fs';
import { withSettingsTable } from './settings-table.js';

/* Writes the parts of docs/ that follow from the code. A part of `npm run generate`. */

const page = 'docs/configuration.md';
writeFileSync(page, withSettingsTable(readFileSync(page, 'utf8')));
