import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { withPoliciesTable } from '../../.ci/generate/policies-table.js';
import { withReasonsTable } from '../../.ci/generate/reasons-table.js';
import { withSettingsTable } from '../../.ci/generate/settings-table.js';
import { EvmPoliciesSchema } from '../../gen/relayer/v1/evm_pb.js';
import { SolanaPoliciesSchema } from '../../gen/relayer/v1/solana_pb.js';
import { StellarPoliciesSchema } from '../../gen/relayer/v1/stellar_pb.js';
import { settings } from '../../src/config/settings.js';
import { errorReasons } from '../../src/core/errors/errors.js';

const policies = [
  ['EVM', EvmPoliciesSchema],
  ['Stellar', StellarPoliciesSchema],
  ['Solana', SolanaPoliciesSchema],
] as const;

const rootPages = ['README.md', 'CONTRIBUTING.md', 'RELEASING.md', 'SECURITY.md'];
const pages = [...rootPages, ...['docs', 'examples'].flatMap(markdownIn)];

describe('the documentation', () => {
  it('docs/configuration.md lists every setting as the code defines it', () => {
    const page = readFileSync('docs/configuration.md', 'utf8');
    assert.equal(page, withSettingsTable(page), 'run "npm run generate"');
    for (const { name } of settings) assert.ok(page.includes(`| \`${name}\` |`), name);
  });

  it('docs/configuration.md lists every policy of every network as the definitions declare it', () => {
    const page = readFileSync('docs/configuration.md', 'utf8');
    assert.equal(page, withPoliciesTable(page), 'run "npm run generate"');
    for (const [network, { fields }] of policies) {
      for (const { name } of fields) assert.match(page, new RegExp(`^\\| ${network} \\| \`${name}\` \\| \\S`, 'm'));
    }
  });

  it('docs/api.md lists every reason as the options of the definitions declare it', () => {
    const page = readFileSync('docs/api.md', 'utf8');
    assert.equal(page, withReasonsTable(page), 'run "npm run generate"');
    for (const reason of errorReasons) assert.ok(page.includes(`| \`${reason}\` |`), reason);
  });

  it('every relative link leads to a file and a heading', () => {
    let links = 0;
    for (const page of pages) {
      for (const [, link = '', anchor] of readFileSync(page, 'utf8').matchAll(/\]\(([^)#]*)(?:#([^)]*))?\)/g)) {
        if (/^[a-z]+:/.test(link)) continue;
        links += 1;
        const target = link === '' ? page : join(dirname(page), link);
        assert.ok(existsSync(target), `${page}: ${link}`);
        if (anchor !== undefined) assert.ok(headingsOf(target).includes(anchor), `${page}: ${link}#${anchor}`);
      }
    }
    assert.ok(links > 10);
  });

  it('docs/README.md links to every page', () => {
    const index = readFileSync('docs/README.md', 'utf8');
    for (const page of markdownIn('docs').filter((file) => file !== join('docs', 'README.md'))) {
      assert.ok(index.includes(`(${page.slice('docs/'.length)})`), page);
    }
    for (const page of rootPages.slice(1)) assert.ok(index.includes(`(../${page})`), page);
  });

  it('every path in the documentation exists', () => {
    for (const page of pages) {
      for (const [, file = ''] of readFileSync(page, 'utf8').matchAll(/(?:^|[\s`(])((?:src|test|examples|proto|scripts)\/[\w./-]*\w)/g)) {
        // A command on the page creates this file.
        if (file.startsWith('examples/config/keys/')) continue;
        assert.ok(existsSync(file), `${page}: ${file}`);
      }
    }
  });
});

/** Returns the anchors of a page's headings. */
function headingsOf(page: string): string[] {
  return [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, text = '']) =>
    text
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

function markdownIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(folder, file));
}
