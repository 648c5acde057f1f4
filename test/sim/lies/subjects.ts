import type { Entry } from '../../../src/chains/rpc/question.js';
import type { NetworkType } from '../../../src/core/records/network.js';

/** How nodes can lie about a question, and the world in which the service asks it. */
export interface Lies<A extends readonly unknown[]> {
  /** Two sets of arguments: what does not differ between their parameters is how the question is recognized on the wire. */
  readonly samples: readonly [A, A];
  /** The amounts in the answer, by the name of their member; the empty name: the answer itself. */
  readonly amounts: readonly string[];
  readonly world?: WorldKind;
  /** Amounts that decide about something else in another world. */
  readonly alsoIn?: Readonly<Partial<Record<WorldKind, readonly string[]>>>;
  /** A slot must be freed whatever the only endpoint answers to this; `on the chain`: at least there, since no record can show it. */
  readonly isDispensable?: true | 'on the chain';
  /**
   * Two endpoints must answer it before an attempt counts as dead: one that does not may have it in a block. So with one honest endpoint,
   * nobody can know, and the record must say so until another one answers.
   */
  readonly needsTwo?: true;
}

/**
 * What makes the service ask a question. `quiet`: others pay no priority fee; `dear`: they pay much. `costly legacy`: the base fee is high. `pruned`: nodes have no nonces by block
 * number. `skipping`: they have no block at some numbers. `busy`: one block holds many transactions of the account. `contract`: payments
 * are calls.
 */
export type WorldKind =
  | 'usual'
  | 'quiet'
  | 'dear'
  | 'legacy'
  | 'costly legacy'
  | 'optimism'
  | 'reverting'
  | 'automatic'
  | 'pruned'
  | 'skipping'
  | 'busy'
  | 'contract';

/** A question, or an amount in its answer, as the subject of a lie. */
export interface Subject {
  readonly network: NetworkType;
  readonly name: string;
  readonly question: string;
  readonly amount: string | null;
  readonly world: WorldKind;
  readonly isDispensable: boolean | 'on the chain';
  readonly needsTwo: boolean;
}

type Params = readonly unknown[];

/** A call on the wire, without its id. */
export interface AskedCall {
  readonly method: string;
  readonly params?: unknown;
}

/** What can be a lie of the nodes of a network. */
export interface Questionnaire {
  /** The subjects that lies of any kind have, or those about amounts. Questions that are the same on the wire, in one world, are one. */
  subjects(about: 'answers' | 'amounts'): readonly Subject[];
  /** True if a call on the wire asks this question, and not another one of the table that fits better. */
  asks(question: string, call: AskedCall): boolean;
}

type Table = Readonly<Record<string, { readonly entry: Pick<Entry<readonly never[], unknown>, 'method'> }>>;

/** Makes it of a table of questions, with one entry for each, so that none can be without lies. */
export function createQuestionnaire(
  network: NetworkType,
  questions: Table,
  lies: Readonly<Record<string, Lies<readonly unknown[]>>>,
): Questionnaire {
  const names = Object.keys(lies);
  const liesOf = (question: string) => lies[question] as Lies<readonly unknown[]>;
  const methodOf = (question: string): string => questions[question]?.entry.method ?? '';

  /** The parameters with null for each that can be anything, and the member names that objects always have. */
  function patternOf(question: string): Params {
    const ask = questions[question] as unknown as (...args: Params) => { readonly params: unknown };
    const [one = [], another = []] = liesOf(question).samples.map((args: Params) => listOf(ask(...args).params));
    return one.map((param, index) => {
      const twin = another[index];
      if (isObject(param) && isObject(twin)) return Object.keys(param).filter((key) => key !== 'to' && key in twin);
      return JSON.stringify(param) === JSON.stringify(another[index]) ? param : null;
    });
  }

  const patterns = new Map(names.map((name) => [name, patternOf(name)]));

  /** How closely these parameters fit a question; null: they do not. */
  function fit(question: string, params: Params): number | null {
    const pattern = patterns.get(question) ?? [];
    // Some nodes take no block for an estimate.
    if (pattern.length !== params.length && question !== 'gasEstimate') return null;
    let closeness = 0;
    for (const [index, wanted] of pattern.entries()) {
      const param = params[index];
      if (wanted === null || (param === undefined && question === 'gasEstimate')) continue;
      if (Array.isArray(wanted)) {
        if (typeof param !== 'object' || param === null || !wanted.every((key) => key in param)) return null;
        closeness += wanted.length;
      } else if (wanted !== param) return null;
      else closeness += 10;
    }
    return closeness;
  }

  return {
    subjects(about) {
      const seen = new Set<string>();
      return names.flatMap((question): readonly Subject[] => {
        const { amounts, world = 'usual', alsoIn = {}, isDispensable = false, needsTwo = false } = liesOf(question);
        const isAlike = seen.size === seen.add(JSON.stringify([methodOf(question), patterns.get(question), world])).size;
        const of = (amount: string | null, where: WorldKind = world): Subject => ({
          network,
          name: `${question}${amount === null || amount === '' ? '' : `.${amount}`}${where === world ? '' : ` (${where})`}`,
          question,
          amount,
          world: where,
          isDispensable,
          needsTwo,
        });
        const others = Object.entries(alsoIn) as [WorldKind, readonly string[]][];
        if (about === 'amounts')
          return [...amounts.map((amount) => of(amount)), ...others.flatMap(([where, some]) => some.map((amount) => of(amount, where)))];
        return isAlike ? [] : [of(null)];
      });
    },
    asks(question, { method, params }) {
      if (methodOf(question) !== method) return false;
      const given = listOf(params);
      const own = fit(question, given);
      return own !== null && names.every((name) => methodOf(name) !== method || (fit(name, given) ?? -1) <= own);
    },
  };
}

/** Stellar's parameters are one object, or none. */
function listOf(params: unknown): Params {
  return Array.isArray(params) ? params : params === null || params === undefined ? [] : [params];
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
