import { hash } from 'node:crypto';
import { type DescField, type DescMethod, type Message, ScalarType } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { DomainError, type ErrorKind } from '../../core/errors/errors.js';
import { traceIdOf } from '../../core/ports/telemetry.js';
import { limitedAddress } from '../../core/text/address-ranges.js';
import { shownName } from '../../core/text/safe-text.js';
import type { Clock } from '../../core/work/clock.js';
import type { AuditLog } from '../../core/work/log.js';
import { createTokenBuckets } from '../../core/work/token-bucket.js';
import { type AuditFacts, type Call, callOf, loggedMs } from './call.js';
import { effectBytes } from './effect-bytes.js';
import { errorTable } from './error-table.js';
import { domainErrorOf } from './errors.js';
import type { MethodPlan } from './method-plan.js';

/** The function that interceptors wrap. Connect does not export its name. */
type Next = Parameters<Interceptor>[0];

export interface AuditDeps {
  readonly plans: readonly MethodPlan[];
  readonly log: AuditLog;
  /** Writes the audit line of a key that is refused on a read. */
  readonly auditRefusal: AuditRefusal;
}

/** The ids in a call, by name (`relayer_id`); several have the name `transaction_ids`. Only ids: other fields may hold secrets. */
type Ids = AuditFacts;

/** Where a method's messages hold ids, found once because audits run at every write. */
interface Audited {
  readonly plan: MethodPlan;
  /** The status of a success over REST. */
  readonly successStatus: number;
  readonly asked: readonly { readonly property: string; readonly name: string }[];
  /** The response field with an id of its own; null: none. */
  readonly answered: { readonly property: string; readonly name: string } | null;
}

/**
 * Creates the interceptor that writes an audit line for each call that writes, whether it succeeds or not: the key's id and name, the
 * method and its ids, the caller's address, what was signed or changed, the outcome (`OK` or the error's reason), and the request id.
 * `replayed` marks an answer by an idempotency key, which did nothing. A read has a line only if the key is refused.
 *
 * The line also has the facts of the request line, which it replaces in the log. It is written before the answer, so that a caller that
 * does not read its answer cannot delay it.
 */
export function createAudit({ plans, log, auditRefusal }: AuditDeps): Interceptor {
  const written = new Map<DescMethod, Audited>(plans.filter(({ writes }) => writes).map((plan) => [plan.method, auditedFrom(plan)]));
  return (next) => async (request) => {
    const plan = written.get(request.method);
    if (plan === undefined || request.stream) return auditedRead(next, request, auditRefusal);
    const call = callOf({ values: request.contextValues });
    // From here on, since its work may go on after its caller was answered at the deadline.
    call.isAudited = true;
    // Before the call: its service may change the message.
    const asked = idsOfRequest(plan, request.message);
    Object.assign(call.auditFacts, contentFacts(plan, request.message));
    const write = (failure: DomainError | null): void => {
      const status = statusOf(plan, call, failure);
      log.audit(lineOf(plan, call, { ids: asked, outcome: failure?.reason ?? 'OK', status }));
      if (log.isAuditInLog) call.auditedStatus = status;
    };
    const response = await Promise.resolve()
      .then(() => {
        if (log.auditHealth.refuses()) throw notAudited();
        return next(request);
      })
      .catch((error: unknown) => {
        write(domainErrorOf(error));
        throw error;
      });
    if (!response.stream) addIdsOfResponse(plan, response.message, asked);
    write(null);
    if (log.auditHealth.refuses()) throw notAudited();
    return response;
  };
}

/**
 * Returns the status that the watch over the request will see: the status of REST for errors of any protocol, 200 for a success over RPC.
 */
function statusOf({ successStatus }: Audited, { fieldNames }: Call, failure: DomainError | null): number {
  if (failure !== null) return errorTable[failure.kind].httpStatus;
  return fieldNames === 'rest' ? successStatus : 200;
}

/** An answer without its line in the audit log would be a signature or a change that nothing shows. */
function notAudited(): DomainError {
  return new DomainError('unavailable', 'SERVICE_UNAVAILABLE', 'the audit log of the service cannot be written; retry later');
}

/**
 * Returns what a call asked for that moves money or signs: the digest of its canonical request, and receiver and value on EVM. Calls that
 * manage have none: their requests may hold secrets that are short enough to be guessed from a digest.
 */
function contentFacts({ plan }: Audited, message: Message): AuditFacts {
  if (!isAboutContent(plan.scope)) return {};
  const sent = message as Message & SentContent & { readonly transactions?: readonly SentContent[] };
  const facts: AuditFacts = sent.transactions === undefined ? evmFacts(sent) : factsTogether(sent.transactions);
  try {
    facts.requestDigest = hash('sha256', effectBytes(plan.method.input, message), 'hex');
  } catch {
    // A request that cannot be encoded is refused.
  }
  return facts;
}

/** True for the scopes of calls that move money or sign. */
function isAboutContent(scope: MethodPlan['scope']): boolean {
  return scope === 'transactions:write' || scope === 'transactions:approve' || scope === 'sign';
}

/** A request's content, or that of one of its transactions. */
interface SentContent {
  readonly transaction?: { readonly case?: string; readonly value?: { readonly to?: string; readonly value?: string } };
}

/** Returns receiver and value on EVM. */
function evmFacts({ transaction }: SentContent): { to?: string; value?: string } {
  const facts: { to?: string; value?: string } = {};
  if (transaction?.case === 'evm' && transaction.value !== undefined) {
    const { to = '', value = '' } = transaction.value;
    if (to !== '') facts.to = shownName(to);
    if (value !== '') facts.value = shownName(value);
  }
  return facts;
}

/** Returns the receivers and values of transactions that are sent together, in their order; an empty text for one without. */
function factsTogether(transactions: readonly SentContent[]): { to?: readonly string[]; value?: readonly string[] } {
  if (!transactions.some(({ transaction }) => transaction?.case === 'evm')) return {};
  const facts = transactions.map(evmFacts);
  return { to: facts.map(({ to = '' }) => to), value: facts.map(({ value = '' }) => value) };
}

/** How a call ended. */
interface Ended {
  readonly ids: Ids;
  readonly outcome: string;
  readonly status: number;
}

/** Built field by field: spreading the parts would cost several times as much, in every call that writes. */
function lineOf({ plan: { rpcPath, scope } }: Audited, call: Call, { ids, outcome, status }: Ended): object {
  const line: Record<string, unknown> = whoOf(call);
  line.method = rpcPath;
  for (const name in ids) line[name] = ids[name];
  for (const name in call.auditFacts) line[name] = call.auditFacts[name];
  if (isAboutContent(scope) && call.relayer?.policies.rules) line.policiesVersion = call.relayer.policiesVersion;
  line.outcome = outcome;
  if (call.storedResponse.replay !== null) line.replayed = true;
  line.path = call.path;
  line.status = status;
  line.ms = loggedMs(performance.now() - call.startedAtMs);
  line.traceId = traceIdOf(call.traceParent);
  return line;
}

const refusals: ReadonlySet<ErrorKind> = new Set<ErrorKind>(['unauthenticated', 'forbidden']);

/** Serves a call that writes nothing. The key's relayer list is checked here, with the message at hand. */
async function auditedRead(next: Next, request: Parameters<Next>[0], auditRefusal: AuditRefusal): Promise<Awaited<ReturnType<Next>>> {
  const noteRefusal = (error: unknown) => {
    const failure = domainErrorOf(error);
    if (!refusals.has(failure.kind)) return;
    const call = callOf({ values: request.contextValues });
    call.isAudited = true;
    auditRefusal({ ...call, method: `${request.service.name}.${request.method.name}`, failure });
  };
  try {
    const response = await next(request);
    return response.stream ? { ...response, message: untilFailure(response.message, noteRefusal) } : response;
  } catch (error) {
    noteRefusal(error);
    throw error;
  }
}

async function* untilFailure<T>(items: AsyncIterable<T>, note: (error: unknown) => void): AsyncIterable<T> {
  try {
    yield* items;
  } catch (error) {
    note(error);
    throw error;
  }
}

function whoOf({ requestId, callerAddress, principal }: Pick<Call, 'requestId' | 'callerAddress' | 'principal'>) {
  return { requestId, address: callerAddress, keyId: principal?.keyId ?? null, keyName: principal?.name ?? null };
}

/** A key that was refused, or its absence. */
export interface Refusal extends Pick<Call, 'requestId' | 'callerAddress' | 'principal'> {
  /** The label of the method; null: unknown. */
  readonly method: string | null;
  readonly failure: DomainError;
}

/** Writes the audit line of a refused key. */
export type AuditRefusal = (refusal: Refusal) => void;

/** Lines about refusals, by key, and without one by address: they must not flood the log, nor hide the lines of others. */
const refusalLimits = { perSecond: 5, burst: 50 };
/** All lines without a key: strangers have as many addresses as they like, and the disk ends. */
const strangerLimits = { perSecond: 20, burst: 200 };
const strangers = 'no key';

/**
 * Creates the writer of audit lines about refusals. The first line after the limit says how many lines of the same key, or of all callers
 * without one, were left out.
 */
export function createRefusalAudit(log: AuditLog, clock: Clock): AuditRefusal {
  const lines = createTokenBuckets(() => refusalLimits, clock);
  const strangerLines = createTokenBuckets(() => strangerLimits, clock);
  /** By key: addresses are too many to count each. */
  const suppressedBy = new Map<string, number>();
  return ({ method, failure, ...who }) => {
    const { principal, callerAddress } = who;
    const by = principal === null ? strangers : `key ${principal.keyId}`;
    const suppressed = suppressedBy.get(by) ?? 0;
    const isAllowed =
      principal === null
        ? lines.take(`address ${limitedAddress(callerAddress ?? '')}`).allowed && strangerLines.take(strangers).allowed
        : lines.take(by).allowed;
    if (!isAllowed) {
      suppressedBy.set(by, suppressed + 1);
      return;
    }
    const { relayer_id } = failure.metadata;
    const ids = relayer_id === undefined ? {} : { relayer_id };
    log.audit({ ...whoOf(who), method, ...ids, outcome: failure.reason, ...(suppressed === 0 ? {} : { suppressed }) });
    suppressedBy.delete(by);
  };
}

/** Finds ids such as `relayer_id`. The `id` of a resource to create is logged under the name of that resource. */
function auditedFrom(plan: MethodPlan): Audited {
  const { method, http } = plan;
  const asked = method.input.fields
    .filter((field) => field.fieldKind === 'scalar' && field.scalar === ScalarType.STRING && /(^|_)id$/.test(field.name))
    .map(({ name, localName }) => ({ property: localName, name: name === 'id' ? `${http?.responseField}_id` : name }));
  const answered = method.output.fields.find(({ name, message }) => name === http?.responseField && message !== undefined);
  return {
    plan,
    successStatus: http?.successStatus ?? 200,
    asked,
    answered: answered === undefined ? null : { property: answered.localName, name: idNameOf(answered) },
  };
}

function idNameOf({ name, fieldKind }: DescField): string {
  return fieldKind === 'list' ? `${name.replace(/s$/, '')}_ids` : `${name}_id`;
}

function idsOfRequest({ asked }: Audited, message: Message): Ids {
  const ids: Ids = {};
  for (const { property, name } of asked) {
    const value = textOf(message, property);
    if (value !== '') ids[name] = shownName(value);
  }
  return ids;
}

/** Adds the ids in the response: those of new resources are not known before. */
function addIdsOfResponse({ answered }: Audited, message: Message, ids: Ids): void {
  if (answered === null) return;
  const answer = (message as unknown as Record<string, Message | readonly Message[] | undefined>)[answered.property];
  if (answer === undefined) return;
  const found = isList(answer) ? answer.map((one) => textOf(one, 'id')) : textOf(answer, 'id');
  if (found.length > 0) ids[answered.name] = found;
}

function isList(answer: Message | readonly Message[]): answer is readonly Message[] {
  return Array.isArray(answer);
}

function textOf(message: Message, property: string): string {
  const value = (message as unknown as Record<string, unknown>)[property];
  return typeof value === 'string' ? value : '';
}
