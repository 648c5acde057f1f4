import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';

/** The file of each client's project that makes its stubs, by the language as docs/api.md names it. */
const files: Readonly<Record<string, string>> = {
  Go: 'go/build.sh',
  'Go with Connect': 'go/build.sh',
  Python: 'python/build.sh',
  'C++': 'cpp/build.sh',
  xml: 'java/pom.xml',
  rust: 'rust/build.rs',
};

describe('the clients with stubs', async () => {
  const page = await readFile('docs/api.md', 'utf8');
  const section = page.slice(page.indexOf('## Other languages'));
  const rows = [...section.matchAll(/^\| ([^|]+) \|(?: also)? `(protoc [^`]+|python3 [^`]+)`/gm)];
  const blocks = [...section.matchAll(/^```(xml|rust)\n(.*?)^```/gms)];
  const shown = new Map([...rows, ...blocks].map(([, language = '', command = '']) => [language, command]));

  for (const [language, file] of Object.entries(files)) {
    it(`the clients with stubs: the commands of docs/api.md generate their stubs for ${language}`, async () => {
      const project = await readFile(`test/clients/${file}`, 'utf8');
      assert.ok(oneLine(project).includes(oneLine(shown.get(language) ?? '(not shown)')), shown.get(language));
    });
  }
});

/** Leaves out how the lines are broken and indented. */
function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
