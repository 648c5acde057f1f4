import { settings } from '../config/settings.js';

/** The table of settings as a paragraph of a command's help. */
export function settingsHelp(): string {
  const width = Math.max(...settings.map(({ name }) => name.length));
  const lines = settings.map((setting) => `  ${setting.name.padEnd(width)}  ${setting.doc}${defaultOf(setting.default)}`);
  return `\nSettings (environment variables):\n${lines.join('\n')}`;
}

function defaultOf(text: string | undefined): string {
  if (text === undefined) return ' Required.';
  return text === '' ? '' : ` Default: ${text}`;
}
