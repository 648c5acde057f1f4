#!/usr/bin/env node
import { nameSourcesInStacks } from './observability/stack-sources.js';

nameSourcesInStacks();
// Not with the imports above: then its parts would not all be in one folder once bundled, and would look for their neighbours in another.
const { runCli } = await import('./cli/program.js');
process.exitCode = await runCli(process.argv.slice(2));
