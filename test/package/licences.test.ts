import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isPermitted, lineOf, packageIn, shippedPackages } from '../../.ci/licences.js';

it('licences: everything that users get, installed or in a bundle, is under MIT, Apache, BSD, ISC or 0BSD', () => {
  const shipped = shippedPackages();
  assert.deepEqual(shipped.filter(({ licence }) => !isPermitted(licence)).map(lineOf), []);
  const names = new Set(shipped.filter(({ isBundled }) => isBundled).map(({ name }) => name));
  for (const name of ['undici', '@solana/addresses', '@stellar/stellar-sdk', 'preact', 'swagger-ui-dist']) assert.ok(names.has(name), name);
  assert.ok(shipped.some(({ name, isBundled }) => name === 'pg' && !isBundled));
});

it('licences: a package that is in a bundle is not installed besides', () => {
  const shipped = shippedPackages();
  const installed = new Set(shipped.filter(({ isBundled }) => !isBundled).map(({ name }) => name));
  // The types of the package's client come from these.
  const types = ['@bufbuild/protobuf', '@connectrpc/connect'];
  assert.deepEqual(shipped.filter(({ name, isBundled }) => isBundled && installed.has(name) && !types.includes(name)).map(lineOf), []);
});

it('licences: an expression is permitted if its choices allow it', () => {
  for (const permitted of ['MIT', '0BSD', 'BSD-2-Clause', '(MIT OR WTFPL)', '(Apache-2.0 AND BSD-3-Clause)', 'GPL-2.0-only OR MIT']) {
    assert.equal(isPermitted(permitted), true, permitted);
  }
  for (const refused of [
    'GPL-3.0-only',
    'AGPL-3.0',
    'MPL-2.0',
    'MIT AND GPL-2.0-only',
    'LGPL-2.1 OR MPL-2.0',
    'UNLICENSED',
    'MIT-0',
    'not stated',
    '',
  ]) {
    assert.equal(isPermitted(refused), false, refused);
  }
  assert.equal(isPermitted('MIT OR GPL-2.0-only AND MPL-2.0'), false);
  assert.equal(packageIn('node_modules/pg').licence, 'MIT');
});
