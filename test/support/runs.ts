/** Under `npm run suite -- nightly`, generated cases are this many times as many. */
const nightlyFactor = 20;

/** How many generated cases a test tries: this many in `npm test`, more in `npm run suite -- nightly`. */
export function runs(count: number): number {
  return process.env.NIGHTLY === undefined ? count : count * nightlyFactor;
}
