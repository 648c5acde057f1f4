import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

const run = (file: string, ...args: readonly string[]) => spawnSync(process.execPath, [file, ...args], { encoding: 'utf8' });

describe('suites and benchmarks by name', () => {
  for (const [command, file] of [
    ['suite', 'dist/test/suite.js'],
    ['bench', 'dist/bench/main.js'],
  ] as const) {
    it(`npm run ${command}: lists its names and durations without a name, and with --help`, () => {
      for (const args of [[], ['--help']]) {
        const { status, stdout, stderr } = run(file, ...args);
        assert.deepEqual([status, stderr], [0, '']);
        assert.match(stdout, new RegExp(`^npm run ${command} -- <name> \\[options\\]\\n\\n(?: {2}[a-z-]+ {2,}\\S.* {2,}\\S.*\\n)+$`));
      }
    });

    it(`npm run ${command}: rejects an unknown name with the list and exit code 2`, () => {
      for (const name of ['unknown', 'constructor', '--short']) {
        const { status, stdout, stderr } = run(file, name);
        assert.deepEqual([status, stdout], [2, '']);
        assert.equal(stderr, `unknown name ${JSON.stringify(name)}\n\n${run(file).stdout}`);
      }
    });

    it(`npm run ${command}: prints the options of a name with --help, and names a wrong option, without a stack`, () => {
      const name = command === 'bench' ? 'compare' : 'sim';
      const help = run(file, name, '--help');
      assert.deepEqual([help.status, help.stderr], [0, '']);
      assert.match(help.stdout, new RegExp(`^usage: npm run ${command} -- ${name} .*\\n\\n\\S.*\\n$`));
      const { status, stdout, stderr } = run(file, name, '--unknown');
      assert.deepEqual([status, stdout], [2, '']);
      assert.match(stderr, /^Unknown option '--unknown'/);
      assert.doesNotMatch(stderr, /^ {4}at /m);
      assert.ok(stderr.endsWith(`\n\n${help.stdout.split('\n')[0]}\n`), stderr);
    });

    it(`npm run ${command}: every command in the pages and in .ci/run has a name of the list`, () => {
      const names = new Set([...run(file).stdout.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name));
      const pages = readdirSync('.').filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md');
      const docs = readdirSync('docs').filter((name) => name.endsWith('.md'));
      const texts = [...pages, ...docs.map((name) => `docs/${name}`), 'bench/README.md', '.ci/run'].map((name) =>
        readFileSync(name, 'utf8'),
      );
      const used = texts.flatMap((text) => [...text.matchAll(new RegExp(`npm run ${command} -- ([\\w-]+)`, 'g'))].map(([, name]) => name));
      assert.ok(used.length > 5);
      assert.deepEqual(
        used.filter((name) => !names.has(name)),
        [],
      );
    });
  }

  it('npm run suite: gives the program the arguments that follow its name', () => {
    const { status, stdout } = run('dist/test/suite.js', 'instances', '--seed', 'none');
    assert.equal(status, 1);
    assert.match(stdout, /--seed must be an integer, not none/);
  });
});
