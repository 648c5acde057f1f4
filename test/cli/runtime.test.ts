import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { runtimeProblem } from '../../src/cli/runtime.js';
import { programFile } from '../support/program-file.js';

it('runtime: refuses every Node.js release without a SQLite library that it can run, in one sentence', () => {
  for (const version of ['18.20.8', '20.9.0', '20.18.3', '21.7.3', '22.0.0', '22.13.1', '23.11.1']) {
    assert.equal(
      runtimeProblem(version),
      `Node.js ${version} is not supported; use Node.js 24 or later, 22 from 22.14 on, or 20 from 20.19 on`,
      version,
    );
  }
});

it('runtime: accepts the Node.js releases that package.json names', () => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
  assert.equal(engines.node, '^20.19 || ^22.14 || >=24');
  for (const version of ['20.19.0', '20.20.2', '22.14.0', '22.23.3', '24.0.0', '24.21.0', '26.10.0', process.versions.node]) {
    assert.equal(runtimeProblem(version), null, version);
  }
});

it('runtime: the program ends with exit code 2 and one sentence on a refused release, whatever the command', () => {
  const pretend = 'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"22.13.1"}})';
  for (const args of [['--help'], ['serve'], ['check-config']]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', pretend, programFile, ...args], { encoding: 'utf8' });
    assert.deepEqual([status, stdout, stderr], [2, '', `error: ${runtimeProblem('22.13.1')}\n`]);
  }
});
