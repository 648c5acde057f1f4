import { type Setting, settings } from '../../src/config/settings.js';
import { withTable } from './page-table.js';

/** Returns the page with a new table of settings. */
export function withSettingsTable(page: string): string {
  const rows = settings.map(
    (setting) => `| \`${setting.name}\` | ${defaultOf(setting)} | ${setting.doc.replaceAll('|', '\\|').replaceAll('<', '&lt;')} |`,
  );
  return withTable(page, 'settings', ['| Variable | Default | Meaning |', '|---|---|---|', ...rows]);
}

function defaultOf({ default: text }: Setting<unknown>): string {
  if (text === undefined) return '**required**';
  return text === '' ? '' : `\`${text}\``;
}
