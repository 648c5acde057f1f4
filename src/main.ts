#!/usr/bin/env node
import { runtimeProblem } from './cli/runtime.js';

const problem = runtimeProblem(process.versions.node);
if (problem === null) {
  // Imported only now: on another runtime its packages may not even load.
  const { runCli } = await import('./cli/program.js');
  process.exitCode = await runCli(process.argv.slice(2));
} else {
  process.stderr.write(`error: ${problem}\n`);
  process.exitCode = 2;
}
