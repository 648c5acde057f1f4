import diagnostics from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { ServerResponse } from 'node:http';
import { Session } from 'node:inspector';

/*
 * Loaded into a service by `--import`: reports which of its files a walk enters, by V8's coverage. A file is entered if one of its functions runs;
 * loading it does not count. The first walk is from the start to the first connection. Each further one is from a connection to the end of its answer,
 * without what the service does later; `ENTERED_FILES` names the folder of the reports: `<number>.json`.
 */

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly ranges: readonly { readonly startOffset: number; readonly count: number }[];
    }[];
  }[];
}

const folder = process.env.ENTERED_FILES ?? '.';
const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

/** Returns the files entered since the last call, by their paths below `dist/src`. */
function takeFiles(): readonly string[] {
  let files: readonly string[] = [];
  // The answer comes before `post` returns.
  session.post('Profiler.takePreciseCoverage', (error, coverage: Coverage) => {
    if (error !== null) throw error;
    files = coverage.result
      .filter(({ functions }) => functions.some(({ ranges: [range] }) => range !== undefined && range.startOffset > 0 && range.count > 0))
      .flatMap(({ url }) => /\/dist\/src\/(.*)\.js$/.exec(url)?.[1] ?? []);
  });
  return files;
}

let walks = 0;
const write = (): void => writeFileSync(`${folder}/${walks++}.json`, JSON.stringify([...takeFiles()].sort()));
diagnostics.subscribe('net.server.socket', () => {
  if (walks === 0) write();
  else takeFiles();
});
const { end } = ServerResponse.prototype;
ServerResponse.prototype.end = function (...args: unknown[]) {
  // Before the caller has the answer, since it then reads the report.
  write();
  return (end as (...all: unknown[]) => ServerResponse).apply(this, args);
};
