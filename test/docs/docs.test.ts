import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { withSettingsTable } from '../../.ci/generate/settings-table.js';
import { settings } from '../../src/config/settings.js';

const pages = ['README.md', ...['docs', 'examples'].flatMap(markdownIn)];

describe('the documentation', () => {
  it('has every setting as the code has it', () => {
    const page = readFileSync('docs/configuration.md', 'utf8');
    assert.equal(page, withSettingsTable(page), 'run "npm run generate"');
    for (const { name } of settings) assert.ok(page.includes(`| \`${name}\` |`), name);
  });

  it('links to what is there', () => {
    let links = 0;
    for (const page of pages) {
      for (const [, link = ''] of readFileSync(page, 'utf8').matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
        if (/^[a-z]+:/.test(link)) continue;
        links += 1;
        assert.ok(existsSync(join(dirname(page), link)), `${page}: ${link}`);
      }
    }
    assert.ok(links > 10);
  });

  it('has every page in its index', () => {
    const index = readFileSync('docs/README.md', 'utf8');
    for (const page of markdownIn('docs').filter((file) => file !== join('docs', 'README.md'))) {
      assert.ok(index.includes(`(${page.slice('docs/'.length)})`), page);
    }
  });

  it('names files that are there', () => {
    for (const page of pages) {
      for (const [, file = ''] of readFileSync(page, 'utf8').matchAll(/(?:^|[\s`(])((?:src|test|examples|proto|scripts)\/[\w./-]*\w)/g)) {
        // What a command of the page makes.
        if (file.startsWith('examples/config/keys/')) continue;
        assert.ok(existsSync(file), `${page}: ${file}`);
      }
    }
  });
});

function markdownIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(folder, file));
}
