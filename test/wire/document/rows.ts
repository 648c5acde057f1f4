import type { JsonObject, JsonValue } from '@bufbuild/protobuf';

/** A network whose relayer gets the request; notifications are the same on each. */
export type Network = 'evm' | 'stellar' | 'solana';

/** The calls of the document; `send` has the body of `replace`. */
export type Call = 'replace' | 'send' | 'sign' | 'create' | 'update';

/** What the document says about a body. */
export type Verdict =
  | {
      readonly is: 'accepted';
      readonly holds?: Readonly<Record<string, unknown>>;
      readonly warnsOf?: string;
      /** The memo of the signed transaction: its type and its value, bytes in hex. */
      readonly writes?: string | undefined;
    }
  /** With the field by its path in REST; `message` is the fixed text. The sentence contains `states`. */
  | { readonly is: 'refused'; readonly field: string; readonly states?: string | undefined };

/** One request and its verdict. */
export interface Row {
  readonly call: Call;
  readonly on: Network;
  /** The value that the row is about, for its name. */
  readonly shown: string;
  /** The body as JSON text; null: REST cannot express it. */
  readonly rest: string | null;
  /** The request beside its ids; null: binary messages cannot express it. */
  readonly rpc: JsonObject | null;
  /** The JSON text of the same in Connect; null: the text of `rpc`. */
  readonly rpcText: string | null;
  readonly verdict: Verdict;
}

/** A sentence of the document or of the wire contract, with the rows that it decides. */
export interface Sentence {
  readonly says: string;
  readonly rows: readonly Row[];
}

/** A body without the field that rows are about, in the words of REST (values as JSON text) and of RPC. */
export interface Base {
  readonly call: Call;
  readonly on: Network;
  readonly rest: Readonly<Record<string, string>>;
  readonly rpc: JsonObject;
}

/** A value of a field; undefined leaves the field out. */
export interface Value {
  readonly rest?: string | undefined;
  readonly rpc?: JsonValue | undefined;
  /** The field's text in REST, if that is not what RPC has. */
  readonly only?: 'rest' | 'rpc';
  /** Of a memo: what the signed transaction then has. */
  readonly writes?: string | undefined;
}

/** Values of types that no field of the document has; Connect refuses them as REST does. */
export const strangeTypes: readonly string[] = ['true', '[]', '{}', '[1]', '{"value":1}'];

const bothCalls: readonly Call[] = ['replace', 'send'];

/** Makes rows for a field: each value in the body of each base. */
export function rowsOf(
  bases: readonly Base[],
  field: string,
  values: readonly Value[],
  verdictOf: (value: Value) => Verdict,
): readonly Row[] {
  return bases.flatMap((base) =>
    values.map((value): Row => {
      const { only } = value;
      const own = value.rest === undefined ? [] : [[field, value.rest]];
      const rest = Object.fromEntries([...Object.entries(base.rest).filter(([name]) => name !== field), ...own]) as Record<string, string>;
      const { [field]: _, ...others } = base.rpc;
      const verdict = verdictOf(value);
      const isStrange = verdict.is === 'refused' && verdict.field === field && only === 'rest' && strangeTypes.includes(value.rest ?? '');
      const rpc = value.rpc === undefined ? others : { ...others, [field]: value.rpc };
      return {
        call: base.call,
        on: base.on,
        shown: `${field} ${(value.rest ?? JSON.stringify(value.rpc) ?? 'absent').slice(0, 100)}`,
        rest: only === 'rpc' ? null : objectText(rest),
        rpc: only === 'rest' ? null : rpc,
        rpcText: isStrange ? objectText({ ...textsOf(others), [field]: value.rest ?? '' }) : null,
        verdict,
      };
    }),
  );
}

/** Rows that are accepted; `stored` is what the record then has in the field. */
export function accepts(
  bases: readonly Base[],
  field: string,
  values: readonly Value[],
  stored?: (value: Value) => unknown,
): readonly Row[] {
  return rowsOf(bases, field, values, (value) => ({
    is: 'accepted',
    writes: value.writes,
    ...(stored && { holds: { [field]: stored(value) } }),
  }));
}

/** Rows that are refused with this field named; the sentence states the bound. */
export function refuses(
  bases: readonly Base[],
  field: string,
  values: readonly Value[],
  named = field,
  states: string | undefined = undefined,
): readonly Row[] {
  return rowsOf(bases, field, values, () => ({ is: 'refused', field: named, states }));
}

/** Times of REST and RPC, and those of REST alone, by their JSON text with the text of the record. PUT without one keeps it; POST has none. */
export function acceptsTimes(bases: readonly Base[], times: Readonly<Record<string, string>>, ofRest: typeof times): readonly Row[] {
  const puts = bases.filter(({ call }) => call === 'replace');
  const posts = bases.filter(({ call }) => call === 'send');
  return [
    ...accepts(bases, 'valid_until', restOnly(...Object.keys(ofRest)), ({ rest = '' }) => ofRest[rest]),
    ...accepts(bases, 'valid_until', same(...Object.keys(times)), ({ rest = '' }) => times[rest]),
    ...accepts(puts, 'valid_until', absent, () => Object.values(times).at(-1)),
    ...accepts(posts, 'valid_until', absent, () => null),
  ];
}

/** The same JSON text in REST and RPC. */
export function same(...texts: readonly string[]): readonly Value[] {
  return texts.map((text) => ({ rest: text, rpc: JSON.parse(text) as JsonValue }));
}

/** JSON texts that only REST reads, or that have a type which binary messages cannot hold. */
export function restOnly(...texts: readonly string[]): readonly Value[] {
  return texts.map((rest) => ({ rest, only: 'rest' as const }));
}

/** Absent in both, and null, which means absent. */
export const absent: readonly Value[] = [{}, { rest: 'null' }];

/** The bases of PUT and POST, which have one body. */
export function bothOf(base: Omit<Base, 'call'>): readonly Base[] {
  return bothCalls.map((call) => ({ ...base, call }));
}

/** A base with other fields. */
export function withFields(bases: readonly Base[], fields: JsonObject): readonly Base[] {
  return bases.map((base) => ({ ...base, rest: { ...base.rest, ...textsOf(fields) }, rpc: { ...base.rpc, ...fields } }));
}

/** A base without some fields. */
export function without(bases: readonly Base[], ...names: readonly string[]): readonly Base[] {
  const isKept = ([name]: readonly [string, unknown]) => !names.includes(name);
  return bases.map((base) => ({
    ...base,
    rest: Object.fromEntries(Object.entries(base.rest).filter(isKept)),
    rpc: Object.fromEntries(Object.entries(base.rpc).filter(isKept)) as JsonObject,
  }));
}

/** Bases whose fields have the same JSON in REST and RPC. */
export function textsOf(fields: JsonObject): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)]));
}

function objectText(fields: Readonly<Record<string, string>>): string {
  return `{${Object.entries(fields)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(',')}}`;
}
