import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';

/* Which packages of others a bundle contains, under which licences, and with which texts. */

/** A package as its own `package.json` describes it. */
export interface LicencedPackage {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly licence: string;
}

/** What users of this package may get: permissive licences that ask for no more than their text. */
const permitted = /^(MIT|Apache-2\.0|BSD-2-Clause|BSD-3-Clause|ISC|0BSD)$/;
/** The folders of `dist` that contain code of others. */
const bundles = ['dist/program', 'dist/console', 'dist/client', 'dist/reference'];
const listName = 'LICENSES.txt';
const separator = '='.repeat(80);

/** Returns true if the SPDX expression lets users choose permitted licences alone. */
export function isPermitted(expression: string): boolean {
  const bare = expression.replace(/[()]/g, ' ').trim();
  // An expression with both operators needs their precedence, and no package has one.
  if (/ OR /.test(bare) && / AND /.test(bare)) return false;
  const [operator, isEnough] = / OR /.test(bare) ? ([' OR ', 'some'] as const) : ([' AND ', 'every'] as const);
  return bare.split(operator)[isEnough]((licence) => permitted.test(licence.trim()));
}

/** Returns the package in this folder. */
export function packageIn(folder: string): LicencedPackage {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return { name, version, licence: typeof license === 'string' ? license : 'not stated' };
}

/** Returns the folders of the packages that are in a bundle. */
export function foldersOf({ outputs }: Metafile): readonly string[] {
  const files = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(folders)].sort();
}

/** Writes the list of these packages and the texts of their licences into the folder of the bundle that contains them. */
export function writeLicences(folder: string, packages: readonly string[]): void {
  const namesByText = new Map<string, string[]>();
  for (const found of packages) {
    const text = licenceText(found);
    namesByText.set(text, [...(namesByText.get(text) ?? []), packageIn(found).name]);
  }
  const list = [...new Set(packages.map((found) => lineOf(packageIn(found))))].sort();
  const texts = [...namesByText].map(([text, names]) => `${separator}\n${[...new Set(names)].join('\n')}\n\n${text}\n`);
  writeFileSync(
    join(folder, listName),
    `The files of this folder contain code of these packages. Their licences follow.\n\n${list.join('\n')}\n\n${texts.join('\n')}`,
  );
}

/**
 * Returns what users get of others: the packages that npm installs with this one, optional ones and those for other platforms included, and
 * those in the bundles, with whether they are.
 */
export function shippedPackages(): readonly (LicencedPackage & { readonly isBundled: boolean })[] {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Readonly<Record<string, { name?: string; version: string; license?: string; dev?: boolean }>>;
  };
  const installed = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, locked]) => ({
      // The lock names what an alias stands for.
      name: locked.name ?? path.replace(/^.*node_modules\//, ''),
      version: locked.version,
      licence: locked.license ?? 'not stated',
      isBundled: false,
    }));
  const bundled = bundles.flatMap(bundledIn).map((one) => ({ ...one, isBundled: true }));
  const byLine = new Map([...bundled, ...installed].map((one) => [lineOf(one), one]));
  return [...byLine].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

/** Returns the packages in the bundle of this folder, as its build has listed them. */
function bundledIn(folder: string): readonly LicencedPackage[] {
  const [list = ''] = readFileSync(join(folder, listName), 'utf8').split(separator);
  return [...list.matchAll(/^(\S+) (\S+): (.+)$/gm)].map(([, name = '', version = '', licence = '']) => ({ name, version, licence }));
}

/** Returns the line of a package in a list of licences. */
export function lineOf({ name, version, licence }: LicencedPackage): string {
  return `${name} ${version}: ${licence}`;
}

/** Returns the texts of a package's licence and notice. A package without a text gets the common text of its licence. */
function licenceText(folder: string): string {
  const files = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
  if (files.length > 0)
    return files
      .sort()
      .map((name) => readFileSync(join(folder, name), 'utf8').trim())
      .join('\n\n');
  const { name, licence } = packageIn(folder);
  if (/Apache-2\.0/.test(licence)) return readFileSync('LICENSE', 'utf8').trim();
  if (licence === 'MIT') return `MIT License\n\nCopyright (c) ${authorOf(folder)}\n\n${mitText}`;
  throw new Error(`${name} has no text of its licence ${licence}, and .ci/licences.ts has none either`);
}

function authorOf(folder: string): string {
  const { author, contributors, name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const [known] = [author, ...(contributors ?? [])]
    .map((one) => (typeof one === 'object' ? one?.name : one))
    .filter((one) => typeof one === 'string');
  return known ?? `the authors of ${name}`;
}

const mitText = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`;
