/** A line of the audit log, as it was written, and what it is found by. */
export interface AuditLine {
  /** The id of the chain that the line is in: 16 hex digits. */
  readonly chain: string;
  /** Its number in the chain, from 1. */
  readonly number: number;
  readonly atMs: number;
  /** The key of the call; `engine` for what the service signs for transactions; null: no valid key. */
  readonly keyId: string | null;
  /** `TransactionService.CancelTransaction`; null: it is about no call, or about an unknown method. */
  readonly method: string | null;
  readonly relayerId: string | null;
  readonly transactionIds: readonly string[];
  /** JSON without a line break. */
  readonly text: string;
}

/** A stored line. */
export interface StoredAuditLine {
  readonly id: string;
  readonly text: string;
}

/** Which lines a list has; what is absent does not matter. */
export interface AuditFilter {
  readonly keyId?: string | undefined;
  /** Only lines about one of these relayers. */
  readonly relayerIds?: readonly string[] | undefined;
  readonly transactionId?: string | undefined;
  readonly method?: string | undefined;
  readonly fromMs?: number | undefined;
  readonly beforeMs?: number | undefined;
}

/** The key of lines about attempts, which the service signs of its own accord. */
export const engineKeyId = 'engine';

const timeDigits = 12;
const numberDigits = 10;
const idSyntax = new RegExp(`^[0-9a-f]{${timeDigits + 16 + numberDigits}}$`);

/** Returns the id under which a line is stored: its time, its chain and its number, so that ids sort as the lines were written. */
export function auditLineId({ atMs, chain, number }: Pick<AuditLine, 'atMs' | 'chain' | 'number'>): string {
  return `${auditIdAt(atMs)}${chain}${hexOf(number, numberDigits)}`;
}

/** Returns the start of the ids of lines with this time; all ids of earlier lines are before it. */
export function auditIdAt(ms: number): string {
  return hexOf(Math.max(0, Math.min(Math.floor(ms), 16 ** timeDigits - 1)), timeDigits);
}

/** Returns the time in an id. */
export function auditTimeOf(id: string): number {
  return Number.parseInt(id.slice(0, timeDigits), 16);
}

/** Returns true for a text that can be the id of a line. */
export function isAuditLineId(text: string): boolean {
  return idSyntax.test(text);
}

function hexOf(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

/** What lines are found by is the id of something that exists, or no id at all: a caller may send any text in its place. */
const idText = /^[\w.:-]{1,64}$/;

/** Returns what a line is found by, from its fields. Made to cost little: each signature has a line. */
export function auditSubjects(fields: Readonly<Record<string, unknown>>): Omit<AuditLine, 'chain' | 'number' | 'atMs' | 'text'> {
  const { keyId, method, relayer_id, transaction_id, transaction_ids } = fields;
  const transactionIds =
    transaction_id === undefined && transaction_ids === undefined ? none : idsIn([transaction_id, transaction_ids].flat());
  return { keyId: idOf(keyId), method: knownMethodOf(method), relayerId: idOf(relayer_id), transactionIds };
}

const none: readonly string[] = [];

function idsIn(values: readonly unknown[]): readonly string[] {
  return [...new Set(values.flatMap((value) => idOf(value) ?? []))];
}

/** The names of methods by what lines have of them: the service's own texts, so they are few. */
const knownMethods = new Map<unknown, string | null>();

function knownMethodOf(method: unknown): string | null {
  const known = knownMethods.get(method);
  if (known !== undefined) return known;
  const name = methodOf(method);
  knownMethods.set(method, name);
  return name;
}

function idOf(value: unknown): string | null {
  return typeof value === 'string' && idText.test(value) ? value : null;
}

/** Returns the name of a method, also of its path over RPC: `TransactionService.CancelTransaction`. */
export function methodOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const [, service, method] = /^(?:\/?relayer\.v1\.)?(\w{1,64})[./](\w{1,64})$/.exec(value) ?? [];
  return service === undefined ? null : `${service}.${method}`;
}
