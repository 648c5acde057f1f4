import type { TestEvent } from 'node:test/reporters';

/*
 * A reporter of Node's test runner, beside the one that people read. It writes the path of each file of tests in which a test failed. `run.ts` makes the
 * suites with these paths; a process that fails outside of them gets its own path, which names no file of tests and so cannot be run again.
 */

/** Yields each path once, in a line. */
export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const seen = new Set<string>();
  for await (const { type, data } of events) {
    if (type !== 'test:fail' || data.nesting !== 0 || seen.has(data.name)) continue;
    seen.add(data.name);
    yield `${data.name}\n`;
  }
}
