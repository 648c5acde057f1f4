import { type Setting, settings } from '../../src/config/settings.js';

/** What stands around the table in `docs/configuration.md`. */
const [start, end] = ['<!-- settings: written by "npm run generate" -->', '<!-- /settings -->'];

/** The page with its table of settings made anew. Throws where the page has no place for it. */
export function withSettingsTable(page: string): string {
  const [before, after] = [page.indexOf(start), page.indexOf(end)];
  if (before === -1 || after < before) throw new Error(`the page has no ${start} ... ${end}`);
  const rows = settings.map(
    (setting) => `| \`${setting.name}\` | ${defaultOf(setting)} | ${setting.doc.replaceAll('|', '\\|').replaceAll('<', '&lt;')} |`,
  );
  const table = ['| Variable | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
  return `${page.slice(0, before + start.length)}\n${table}\n${page.slice(after)}`;
}

function defaultOf({ default: text }: Setting<unknown>): string {
  if (text === undefined) return '**required**';
  return text === '' ? '' : `\`${text}\``;
}
