/** Returns the page with the table of this name replaced. Throws if the page has no markers for it. */
export function withTable(page: string, name: string, lines: readonly string[]): string {
  const [start, end] = [`<!-- ${name}: written by "npm run generate" -->`, `<!-- /${name} -->`];
  const [before, after] = [page.indexOf(start), page.indexOf(end)];
  if (before === -1 || after < before) throw new Error(`the page has no ${start} ... ${end}`);
  return `${page.slice(0, before + start.length)}\n${lines.join('\n')}\n${page.slice(after)}`;
}
