/** What happened in a run: its newest lines, and a digest of all of them. */
export interface EventLog {
  write(line: string): void;
  tail(): readonly string[];
  /** Two runs with the same digest had the same events in the same order. */
  digest(): string;
}

/** Makes an empty log. It keeps at most twice `kept` lines. */
export function createEventLog(kept: number, elapsedMs: () => number): EventLog {
  let lines: string[] = [];
  let low = 0x811c9dc5;
  let high = 0x9e3779b9;
  let count = 0;
  return {
    write(text) {
      const line = `${elapsedMs()} ${text}`;
      for (let at = 0; at < line.length; at += 1) {
        const code = line.charCodeAt(at);
        low = Math.imul(low ^ code, 0x01000193);
        high = Math.imul(high ^ code, 0x85ebca6b) + 1;
      }
      count += 1;
      lines.push(line);
      if (lines.length >= 2 * kept) lines = lines.slice(kept);
    },
    tail: () => lines.slice(-kept),
    digest: () => `${(low >>> 0).toString(16)}${(high >>> 0).toString(16)}-${count}`,
  };
}
