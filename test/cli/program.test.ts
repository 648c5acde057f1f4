import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { runCli, runProgram } from '../support/run-cli.js';

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
  ['signer'],
  ['signer', 'test'],
  ['api-key'],
  ['api-key', 'create'],
  ['api-key', 'list'],
  ['api-key', 'delete'],
  ['rotate-encryption-key'],
];

test('relayer --version: prints the version of the package', async () => {
  const { version }: { version: string } = JSON.parse(await readFile('package.json', 'utf8'));
  assert.deepEqual(await runProgram(['--version']), { exitCode: 0, stdout: `${version}\n`, stderr: '' });
});

test('relayer --help: names every command', async () => {
  const { exitCode, stdout, stderr } = await runCli(['--help']);
  assert.equal(exitCode, 0);
  assert.equal(stderr, '');
  for (const [name] of commands) assert.match(stdout, new RegExp(`^  ${name} `, 'm'));
});

test('relayer: the help of every command has an example', async () => {
  for (const command of commands) {
    const { exitCode, stdout, stderr } = await runCli([...command, '--help']);
    assert.equal(exitCode, 0);
    assert.equal(stderr, '');
    assert.match(stdout, /Examples?:\n.*relayer /, command.join(' '));
  }
});

test('relayer serve --help: lists the settings that must be set first, and those of some networks and signers last', async () => {
  const { stdout } = await runCli(['serve', '--help']);
  const settings = stdout.slice(stdout.indexOf('Settings')).trimEnd().split('\n').slice(1);
  const ranks = settings.map((line) => (line.endsWith(' Required.') ? 0 : /^ +\w+ +Only for /.test(line) ? 2 : 1));
  assert.deepEqual(new Set(ranks), new Set([0, 1, 2]));
  assert.deepEqual(
    ranks,
    ranks.toSorted((one, other) => one - other),
  );
});

test('relayer: exits with 2 on wrong usage and writes to standard error only', async () => {
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
