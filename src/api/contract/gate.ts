import type { DescField, DescMethod, DescOneof, Message } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { compileFieldBounds } from '../../codec/field-bounds.js';
import { unionRulesOf } from '../../codec/field-rules.js';
import { protoPathOf } from '../../codec/proto-path.js';
import { DomainError, invalidField } from '../../core/errors/errors.js';
import { type FieldName, type IsRefused, withFurther, withOthers } from '../../core/errors/read-all.js';
import type { Directory } from '../../core/ports/directory.js';
import { networkTypes } from '../../core/records/network.js';
import { mayUseRelayer, relayerNotAllowed } from '../../core/records/principal.js';
import { type Relayer, requireActive } from '../../core/records/relayer.js';
import { shownName } from '../../core/text/safe-text.js';
import { type Call, callOf } from './call.js';
import type { MethodPlan } from './method-plan.js';
import { keyEnded } from './shared-errors.js';
import { type ServeOnce, takeIdempotencyKey } from './stored-response.js';

/**
 * Checks a request for problems that the method's service would refuse, without any effect. It runs only for requests that are refused
 * already, so that the caller learns of every violation at once; `isRefused` names the fields whose values are missing for that reason.
 * Throws as the service does.
 */
export type RequestCheck = (message: Message, call: Call, isRefused: IsRefused) => unknown;

/** The checks of the gate for one method's requests. */
interface Rules {
  readonly plan: MethodPlan;
  readonly unions: readonly NetworkUnion[];
  readonly bounds: ((message: object) => DomainError | undefined) | null;
  readonly further: RequestCheck | undefined;
}

/** A union whose case must match the network type of the relayer. */
interface NetworkUnion {
  readonly oneof: DescOneof;
  /** The list whose items, or the message, that has the union; null: the request itself has it. */
  readonly within: DescField | null;
  readonly isRequired: boolean;
  /** The property name of each case, by network type. */
  readonly cases: ReadonlyMap<string, string>;
}

export interface GateDeps {
  readonly plans: readonly MethodPlan[];
  readonly directory: Pick<Directory, 'relayer'>;
  readonly serveOnce: ServeOnce;
  /** The check of a method's service, for methods that check more than the definitions say. */
  readonly checkOf: (method: DescMethod) => RequestCheck | undefined;
}

/**
 * Creates the interceptor that checks a request between reading and serving it, in the order of the contract, the same for RPC and REST:
 * whether the key is still valid, the key's relayer list, the stored response of the idempotency key, the relayer's existence and state,
 * the shape that its network needs, the problem of a JSON body, and the bounds of all fields. A request that fails these last checks
 * is refused, and the error also names the problems that its service would find.
 */
export function createGate({ plans, directory, serveOnce, checkOf }: GateDeps): Interceptor {
  const rules = new Map<DescMethod, Rules>(plans.map((plan) => [plan.method, rulesOf(plan, checkOf)]));
  // A refusal rejects and never throws: interceptors outside may not be async.
  return (next) => async (request) => {
    const rule = rules.get(request.method);
    // Health or reflection.
    if (rule === undefined) return next(request);
    const call = callOf({ values: request.contextValues });
    if (request.stream) {
      const check = async (message: Message) => {
        checkKeyIsValid(call);
        checkRelayerList(rule.plan, message, call);
        await checkRequest(rule, message, call, directory);
      };
      return next({ ...request, message: checked(request.message, check) });
    }
    const serve = async () => {
      // A replayed request passed these checks when it was accepted. The relayer's present state does not matter.
      if (call.storedResponse.replay === null) await checkRequest(rule, request.message, call, directory);
      return next(request);
    };
    checkKeyIsValid(call);
    checkRelayerList(rule.plan, request.message, call);
    if (rule.plan.idempotent) takeIdempotencyKey(request.message, call);
    return rule.plan.idempotent && call.idempotencyKeys.length > 0 ? serveOnce(rule.plan, request.message, call, serve) : serve();
  };
}

async function* checked<T>(items: AsyncIterable<T>, check: (item: T) => Promise<void>): AsyncIterable<T> {
  for await (const item of items) {
    await check(item);
    yield item;
  }
}

function rulesOf(plan: MethodPlan, checkOf: GateDeps['checkOf']): Rules {
  if (plan.idempotent && plan.method.methodKind !== 'unary') throw new Error(`${plan.rpcPath} is a stream, which has no response to store`);
  const { input } = plan.method;
  const inner = input.fields.flatMap((within) => (within.message && within.fieldKind !== 'map' ? [{ within, desc: within.message }] : []));
  const unions = [{ within: null, desc: input }, ...inner].flatMap(({ within, desc }) =>
    desc.oneofs.flatMap((oneof): NetworkUnion[] => {
      const { selector, under } = unionRulesOf(oneof);
      if (selector.case !== 'relayerNetwork') return [];
      if (plan.relayer === 'any') throw new Error(`${plan.rpcPath} has a union selected by the relayer's network, but no relayer rule`);
      const cases = new Map(oneof.fields.map((field) => [field.name, field.localName]));
      const lacking = networkTypes.find((type) => !cases.has(type));
      if (lacking !== undefined) throw new Error(`${plan.rpcPath} has a union without a case for ${lacking}`);
      return [{ oneof, within, isRequired: under === '', cases }];
    }),
  );
  return { plan, unions, bounds: compileFieldBounds(plan.method.input), further: checkOf(plan.method) };
}

/** Throws if the key ended meanwhile: the guards saw it before the body, which a caller can hold back for as long as a request may take. */
function checkKeyIsValid({ principal }: Call): void {
  if (principal?.ended?.aborted) throw keyEnded(principal.ended);
}

function checkRelayerList(plan: MethodPlan, message: Message, { principal, bodyProblem }: Call): void {
  if (plan.relayer === 'any') return;
  // Without the relayer, there is nothing to check the rest against.
  if (bodyProblem?.fields.some(({ field }) => field === 'relayer_id')) throw bodyProblem;
  if (principal === null) return;
  const relayerId = relayerIdOf(message);
  if (!mayUseRelayer(principal, relayerId)) {
    throw relayerNotAllowed(relayerId);
  }
}

/** Only for methods with a relayer rule: their requests have the field. */
function relayerIdOf(message: Message): string {
  return (message as Message & { readonly relayerId: string }).relayerId;
}

/** Returns a promise only if the request is refused for its fields: every valid request passes here. */
function checkRequest(rules: Rules, message: Message, call: Call, directory: GateDeps['directory']): Promise<void> | undefined {
  const { plan, unions, bounds, further } = rules;
  if (plan.relayer !== 'any') {
    const relayer = relayerFor(plan, relayerIdOf(message), directory);
    call.relayer = relayer;
    for (const union of unions) {
      for (const { part, at } of partsOf(message, union.within)) checkShape(union, part, at, relayer, call);
    }
  }
  // The readers of bodies name fields as their callers do.
  const nameOf: FieldName = call.fieldNames === 'proto' ? (field) => protoPathOf(plan.method.input, message, field) : (field) => field;
  const refusal = withOthers(call.bodyProblem, bounds?.(message), nameOf);
  if (refusal === undefined) return undefined;
  if (further === undefined) throw refusal;
  return withFurther(refusal, (isRefused) => further(message, call, isRefused), nameOf).then((complete) => {
    throw complete;
  });
}

function relayerFor(plan: MethodPlan, relayerId: string, directory: GateDeps['directory']): Relayer {
  const echoed = shownName(relayerId);
  const relayer = directory.relayer(relayerId);
  if (relayer === undefined) {
    const fixedText = plan.relayerNotFoundText(echoed);
    throw new DomainError('not_found', 'RELAYER_NOT_FOUND', `Relayer with ID ${echoed} not found`, {
      fixedText,
      metadata: { relayer_id: echoed },
    });
  }
  if (plan.relayer === 'active') requireActive(relayer);
  return relayer;
}

/** Returns the messages that a field holds, and what precedes their fields in paths. Null: the request itself. */
function partsOf(message: Message, within: DescField | null): readonly { readonly part: Message; readonly at: string }[] {
  if (within === null) return [{ part: message, at: '' }];
  const { name, localName, oneof } = within;
  const properties = message as unknown as Record<string, Message | readonly Message[] | Case | undefined>;
  const held = oneof === undefined ? properties[localName] : caseOf(properties[oneof.localName] as Case, localName);
  if (Array.isArray(held)) return held.map((part: Message, index) => ({ part, at: `${name}[${index}].` }));
  return held === undefined ? [] : [{ part: held as Message, at: `${name}.` }];
}

/** A union as a message holds it. */
interface Case {
  readonly case: string | undefined;
  readonly value?: Message;
}

function caseOf(held: Case, name: string): Message | undefined {
  return held.case === name ? held.value : undefined;
}

/**
 * Throws if the union's case does not match the relayer's network. REST always sets the right case; an RPC caller may set another, or none.
 */
function checkShape(
  { oneof, isRequired, cases }: NetworkUnion,
  message: Message,
  at: string,
  { networkType }: Relayer,
  { bodyProblem }: Call,
): void {
  const held = (message as unknown as Record<string, { readonly case: string | undefined }>)[oneof.localName];
  const wanted = cases.get(networkType);
  if (held?.case === undefined) {
    // A body with problems may hold a case that could not be read.
    if (isRequired && bodyProblem === null) throw invalidField(`${at}${oneof.name}`, 'is required');
  } else if (held.case !== wanted) {
    const sentence = `${at}${oneof.name} has the ${held.case} shape, but the relayer's network type is ${networkType}`;
    throw new DomainError('invalid', 'WRONG_NETWORK_SHAPE', sentence, { metadata: { shape: held.case, network_type: networkType } });
  }
}
