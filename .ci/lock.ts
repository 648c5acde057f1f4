import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

/*
 * Writes package-lock.json from package.json, and puts into it what npm leaves out:
 *
 * - Packages for other platforms that the registry does not have are locked without a digest.
 * - `gypfile: false` of better-sqlite3 13. The registry tells npm about it, the lock does not; without it, `npm ci` needs Python and make.
 * - The engines of better-sqlite3 12 as what it is here for: Node.js 20. Other releases skip it, and so need no compiler.
 */

interface LockedPackage {
  version: string;
  integrity?: string;
  resolved?: string;
  gypfile?: boolean;
  readonly os?: readonly string[];
  engines?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Lock {
  packages: Record<string, LockedPackage>;
}

const file = 'package-lock.json';
const read = (): Lock => JSON.parse(readFileSync(file, 'utf8')) as Lock;

const before = read();
execFileSync('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund'], { stdio: 'inherit' });
const lock = read();

for (const { optionalDependencies = {} } of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(optionalDependencies)) {
    const path = `node_modules/${name}`;
    const known = before.packages[path];
    if (lock.packages[path] !== undefined || known?.os === undefined) continue;
    const { integrity, resolved: _, ...rest } = known;
    lock.packages[path] = known.version === version && integrity !== undefined ? known : { ...rest, version };
  }
}
packageAt('node_modules/better-sqlite3').gypfile = false;
packageAt('node_modules/better-sqlite3-node20').engines = { node: '20.x' };

const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`);

function packageAt(path: string): LockedPackage {
  const found = lock.packages[path];
  if (found === undefined) throw new Error(`${file} has no ${path}`);
  return found;
}
