import type { Random } from '../support/seeded-random.js';
import type { Target } from './target.js';

/** The tools of an attack. */
export interface Ground {
  /** The service under attack. */
  readonly target: Target;
  /** True for the form that is short enough to run with every change. */
  readonly isShort: boolean;
  readonly random: Random;
  /** Prints a figure. */
  say(line: string): void;
  /** Reports a violation: the attack continues, and has failed. */
  violation(sentence: string): void;
}

/** One attack. An error that it throws is a violation too. Connections may stay open when it resolves: the target closes them. */
export interface Attack {
  readonly name: string;
  run(ground: Ground): Promise<void>;
}

/**
 * Refusals whose code the conformance suite of Connect prescribes: `unknown` for a verb or a content type that a path does not have, `internal` for a
 * compressed message without an encoding.
 */
const prescribed = /METHOD_NOT_ALLOWED|CONTENT_TYPE_UNSUPPORTED|the content type must be|flagged(?: |%20)as(?: |%20)compressed/;

/** Reports a violation if an answer says that the service failed: as a status of HTTP, as a code of Connect or as a status of gRPC. */
export function refuseFailure({ violation }: Ground, what: string, answer: string): void {
  if (prescribed.test(answer)) return;
  const sign = /HTTP\/1\.1 500|"code":"(?:internal|unknown|data_loss)"|grpc-status: ?(?:2|13|15)\b/.exec(answer)?.[0];
  if (sign !== undefined) violation(`${what}: ${sign} in ${JSON.stringify(answer.slice(0, 600))}`);
}

/** The statuses of all final answers in the bytes of an HTTP/1 connection, in order. */
export function statusesIn(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map(([, status]) => Number(status));
}

/** Runs a job for each number from 0 up to `count`, `lanes` at a time. */
export async function inLanes(count: number, lanes: number, job: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await job(next++);
  };
  await Promise.all(Array.from({ length: Math.min(lanes, count) }, lane));
}
