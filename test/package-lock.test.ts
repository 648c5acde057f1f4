import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';

interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly engines?: { readonly node?: string };
  readonly gypfile?: boolean;
}

/**
 * Packages for other platforms that the registry did not have when they were locked. None of them is installed on Linux with glibc. If you can
 * reach them all, run `npm install --package-lock-only` and remove them here.
 */
const withoutIntegrity = [
  '@biomejs/cli-android-arm64',
  '@biomejs/cli-android-x64',
  '@biomejs/cli-darwin-arm64',
  '@biomejs/cli-darwin-x64',
  '@biomejs/cli-linux-arm64-musl',
  '@biomejs/cli-linux-x64-musl',
  '@biomejs/cli-win32-arm64',
  '@biomejs/cli-win32-x64',
  '@bufbuild/buf-darwin-arm64',
  '@bufbuild/buf-darwin-x64',
  '@bufbuild/buf-linux-armv7',
  '@bufbuild/buf-win32-arm64',
  '@bufbuild/buf-win32-x64',
  '@foundry-rs/anvil-darwin-amd64',
  '@foundry-rs/anvil-darwin-arm64',
  '@foundry-rs/anvil-linux-arm64',
  '@foundry-rs/anvil-win32-amd64',
  'litesvm-darwin-arm64',
  'litesvm-darwin-x64',
  'litesvm-linux-arm64-gnu',
  'litesvm-linux-arm64-musl',
  'litesvm-linux-x64-musl',
];

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Readonly<Record<string, LockedPackage>> };
const locked = Object.entries(packages).filter(([path]) => path !== '');

it('package-lock.json: every package has a SHA-512 digest, except those that the registry did not have', () => {
  const without = locked.filter(([, { integrity }]) => integrity === undefined).map(([path]) => path.replace(/^.*node_modules\//, ''));
  assert.deepEqual(without.sort(), withoutIntegrity);
  for (const [path, { integrity }] of locked) assert.match(integrity ?? 'sha512-', /^sha512-/, path);
});

it('package-lock.json: what has no digest is only installed on other platforms', () => {
  for (const name of withoutIntegrity) {
    const entry = packages[`node_modules/${name}`];
    assert.ok(entry?.optional === true && entry.os !== undefined, name);
  }
});

it('package-lock.json: pkcs11js, which is built by a compiler, is optional, so that an installation without one succeeds', () => {
  assert.equal(packages['node_modules/pkcs11js']?.optional, true);
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  assert.ok('pkcs11js' in optionalDependencies);
  assert.ok(!('pkcs11js' in { ...dependencies, ...devDependencies }));
});

it('package-lock.json: only Node.js 20 installs better-sqlite3 12, and nothing builds 13, so that other releases need no compiler', () => {
  const { engines, optional } = packages['node_modules/better-sqlite3-node20'] ?? {};
  assert.deepEqual([engines?.node, optional], ['20.x', true]);
  assert.deepEqual([packages['node_modules/better-sqlite3']?.gypfile, packages['node_modules/better-sqlite3']?.optional], [false, true]);
});
