import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { runCli } from '../support/run-cli.js';

const commands = [
  ['serve'],
  ['dev'],
  ['check-config'],
  ['migrate'],
  ['backup'],
  ['restore'],
  ['keystore'],
  ['keystore', 'create'],
  ['keystore', 'import'],
  ['api-key'],
  ['api-key', 'create'],
  ['api-key', 'list'],
  ['api-key', 'delete'],
];

test('--version prints the version of the package', async () => {
  const { version }: { version: string } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
  assert.deepEqual(await runCli(['--version']), { exitCode: 0, stdout: `${version}\n`, stderr: '' });
});

test('--help names every command', async () => {
  const { exitCode, stdout, stderr } = await runCli(['--help']);
  assert.equal(exitCode, 0);
  assert.equal(stderr, '');
  for (const [name] of commands) assert.match(stdout, new RegExp(`^  ${name} `, 'm'));
});

test('every command has help with an example', async () => {
  for (const command of commands) {
    const { exitCode, stdout, stderr } = await runCli([...command, '--help']);
    assert.equal(exitCode, 0);
    assert.equal(stderr, '');
    assert.match(stdout, /Examples?:\n.*relayer /, command.join(' '));
  }
});

test('wrong usage is exit code 2, told on standard error alone', async () => {
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /Usage: relayer/],
    [['chek-config'], /unknown command 'chek-config'\n\(Did you mean check-config\?\)/],
    [['--wrong'], /unknown option '--wrong'/],
    [['check-config', 'extra'], /too many arguments/],
    [['keystore'], /Usage: relayer keystore/],
    [['keystore', 'create'], /required option '--out <file>' not specified/],
  ];
  for (const [args, sentence] of wrong) {
    const { exitCode, stdout, stderr } = await runCli(args);
    assert.equal(exitCode, 2, args.join(' '));
    assert.equal(stdout, '');
    assert.match(stderr, sentence);
  }
});
