import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

const maps = new Map<string, SourceMap | null>();

/**
 * Lets stacks name the files of `src` instead of those of the bundle. Node's own `--enable-source-maps` reads every map when the program starts; this
 * reads one when a stack that needs it is first read.
 */
export function nameSourcesInStacks(): void {
  Error.prepareStackTrace = (error, sites) =>
    [Error.prototype.toString.call(error), ...sites.map((site) => `    at ${withSource(String(site))}`)].join('\n');
}

function withSource(frame: string): string {
  return frame.replace(/(file:[^()]+):(\d+):(\d+)/, (built, url: string, line: string, column: string) => {
    const origin = mapOf(url)?.findOrigin(Number(line), Number(column));
    if (origin === undefined || !('fileName' in origin)) return built;
    return `${fileURLToPath(new URL(origin.fileName, url))}:${origin.lineNumber}:${origin.columnNumber}`;
  });
}

function mapOf(url: string): SourceMap | null {
  let map = maps.get(url);
  if (map === undefined) {
    try {
      map = new SourceMap(JSON.parse(readFileSync(new URL(`${url}.map`), 'utf8')));
    } catch {
      map = null;
    }
    maps.set(url, map);
  }
  return map;
}
