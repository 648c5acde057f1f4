import type { VirtualTime } from '../virtual-time.js';
import type { CellWorld } from './cell-world.js';
import { durationOf, type Oddity, oddReply, shifts } from './oddities.js';
import { questionnaires } from './questionnaires.js';
import type { Subject } from './subjects.js';

/** What makes a node lie about one question. */
export interface Liar {
  /** True if a request gets no answer. */
  isSilent(body: string): boolean;
  /** Answers a request's body. `honest` gives the node's own answer. */
  answer(body: string, honest: (body: string) => string): string;
  /** The number of lies so far. */
  told(): number;
  /** Ends the lies. */
  heal(): void;
}

interface LiarOptions {
  readonly subject: Subject;
  readonly oddity: Oddity;
  readonly world: Pick<CellWorld, 'renumbered' | 'createForger'>;
  readonly time: VirtualTime;
  readonly fromMs: number;
  /** When the node heals; null: never. */
  readonly untilMs: number | null;
}

/** A call on the wire. */
export interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** The answer to one. */
export type Reply = { readonly id: unknown } & Readonly<Record<string, unknown>>;

/** Makes a liar. */
export function createLiar({ subject, oddity, world, time, fromMs, untilMs }: LiarOptions): Liar {
  /** What the node answered first since it is odd, by call. */
  const first = new Map<string, Reply>();
  const duration = durationOf(oddity);
  const forger = world.createForger();
  const { asks } = questionnaires[subject.network];
  let told = 0;
  let isHealed = false;

  function isOdd({ method, params }: Call): boolean {
    const elapsedMs = time.elapsedMs();
    if (isHealed || elapsedMs < fromMs || (untilMs !== null && elapsedMs >= untilMs)) return false;
    if (oddity === 'forged' || oddity === 'blocks shifted up' || oddity === 'blocks shifted down') return true;
    if (duration === 'once' ? told > 0 : elapsedMs >= fromMs + duration) return false;
    return asks(subject.question, { method, params });
  }

  function replyTo(call: Call, honest: (body: string) => string): Reply {
    const ask = (one: Call): Reply => JSON.parse(honest(JSON.stringify(one))) as Reply;
    const own = (): Reply => ask(call);
    if (!isOdd(call)) return own();
    const { id, method, params } = call;
    if (oddity === 'forged') {
      const answer = forger.answer(call, ask);
      if (answer !== null) told += 1;
      return answer ?? own();
    }
    told += 1;
    if (oddity === 'blocks shifted up' || oddity === 'blocks shifted down') return world.renumbered(call, shifts[oddity], ask);
    if (oddity !== 'stale for ever') return oddReply(oddity, subject.amount, method, id, own);
    const key = JSON.stringify([method, params]);
    const known = first.get(key) ?? own();
    first.set(key, known);
    return { ...known, id };
  }

  return {
    isSilent(body) {
      if (oddity !== 'time-out') return false;
      const isAsked = callsOf(body).some(isOdd);
      if (isAsked) told += 1;
      return isAsked;
    },
    answer(body, honest) {
      const request: unknown = JSON.parse(body);
      const replies = callsOf(body).map((call) => replyTo(call, honest));
      return JSON.stringify(Array.isArray(request) ? replies : replies[0]);
    },
    told: () => told,
    heal() {
      isHealed = true;
    },
  };
}

function callsOf(body: string): readonly Call[] {
  return [JSON.parse(body)].flat() as readonly Call[];
}
