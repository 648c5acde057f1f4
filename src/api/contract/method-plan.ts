import { type DescMessage, type DescMethod, type DescService, getOption, hasOption } from '@bufbuild/protobuf';
import { http } from '../../../gen/google/api/annotations_pb.js';
import { type MethodRules, method as methodRules, RelayerRule, Scope } from '../../../gen/relayer/rest/v1/options_pb.js';
import { type ErrorReason, errorReasons } from '../../core/errors/errors.js';
import type { Scope as PrincipalScope } from '../../core/records/principal.js';
import { maxBodyBytes, maxUnlimitedBodyBytes } from './shared-errors.js';

/** The credentials that a caller needs: none, any valid key, or a key with a scope. */
export type RequiredScope = 'public' | 'authenticated' | PrincipalScope;

export type Verb = 'GET' | 'PUT' | 'POST' | 'DELETE' | 'PATCH';

/** The REST route of a method. */
export interface HttpPlan {
  readonly verb: Verb;
  /** `/api/v1/relayers/{relayer_id}/transactions`. */
  readonly template: string;
  /** True: the body fills the fields that the path does not. False: the query does. */
  readonly hasBody: boolean;
  /** The proto name of the response field that becomes `data`; null: `data` is null. */
  readonly responseField: string | null;
  readonly successStatus: number;
  /** True: the response field is the whole answer, without the envelope. */
  readonly bare: boolean;
  /** True: the body is a JSON merge patch, whose keys are the request's `update_mask`. */
  readonly mergePatch: boolean;
  /** True: while the database is unavailable, the answer is 500, not 503. */
  readonly storeAwayIsInternal: boolean;
  /** True: requests are passed on as they are, also by GET, with every further segment of the path as the variable `route`. */
  readonly passesOn: boolean;
}

/** The options of one method, read once at start. Guards, gate and REST follow them. */
export interface MethodPlan {
  readonly method: DescMethod;
  /** `/relayer.v1.TransactionService/SendTransaction`. */
  readonly rpcPath: string;
  /** `TransactionService.SendTransaction`: the method's name in metrics. */
  readonly label: string;
  readonly scope: RequiredScope;
  readonly rateLimited: boolean;
  readonly maxBodyBytes: number;
  readonly idempotent: boolean;
  /** True if its response has a field with `debug_redact`: a response that is stored is then sealed. */
  readonly answersSecret: boolean;
  /** True if a success changes something or uses a key: such calls are audited. */
  readonly writes: boolean;
  /** The state that the gate requires of the relayer that `relayer_id` names. */
  readonly relayer: 'any' | 'exists' | 'active';
  /** Returns the fixed text of the error if the relayer does not exist. */
  relayerNotFoundText(relayerId: string): string;
  /** Reasons of errors that do not follow from the path, the body and the other options. */
  readonly reasons: readonly ErrorReason[];
  /** Null: RPC only. */
  readonly http: HttpPlan | null;
}

const scopes: Readonly<Record<Scope, RequiredScope | null>> = {
  [Scope.UNSPECIFIED]: null,
  [Scope.PUBLIC]: 'public',
  [Scope.AUTHENTICATED]: 'authenticated',
  [Scope.TRANSACTIONS_READ]: 'transactions:read',
  [Scope.TRANSACTIONS_WRITE]: 'transactions:write',
  [Scope.TRANSACTIONS_APPROVE]: 'transactions:approve',
  [Scope.SIGN]: 'sign',
  [Scope.NOTIFICATIONS]: 'notifications',
  [Scope.PLUGINS_CALL]: 'plugins:call',
  [Scope.AUDIT_READ]: 'audit:read',
  [Scope.ADMIN]: 'admin',
};

/** Read-only scopes. */
const readingScopes: ReadonlySet<RequiredScope> = new Set(['public', 'authenticated', 'transactions:read', 'audit:read']);

const relayerRules: Readonly<Record<RelayerRule, MethodPlan['relayer']>> = {
  [RelayerRule.UNSPECIFIED]: 'any',
  [RelayerRule.EXISTS]: 'exists',
  [RelayerRule.ACTIVE]: 'active',
};

/** Reads the options of every method. Throws, naming the method, if they are inconsistent, so that the service does not start. */
export function compileMethodPlans(services: readonly DescService[]): readonly MethodPlan[] {
  return services.flatMap((service) => service.methods.map(compileMethodPlan));
}

function compileMethodPlan(method: DescMethod): MethodPlan {
  const name = `${method.parent.typeName}.${method.name}`;
  const rules = getOption(method, methodRules);
  const scope = scopes[rules.scope];
  if (scope == null) throw new Error(`${name} declares no scope`);
  const relayer = relayerRules[rules.relayer];
  if (relayer !== 'any' && method.input.field.relayerId?.fieldKind !== 'scalar') {
    throw new Error(`${name} has a relayer rule, but its request has no relayer_id`);
  }
  if (rules.idempotent && method.input.field.idempotencyKey?.fieldKind !== 'scalar') {
    throw new Error(`${name} is idempotent, but its request has no idempotency_key`);
  }
  const httpPlan = hasOption(method, http) ? compileHttpPlan(method, name, rules) : null;
  const notFoundText = rules.relayerNotFoundText || 'Not found';
  return {
    method,
    rpcPath: `/${method.parent.typeName}/${method.name}`,
    label: `${method.parent.name}.${method.name}`,
    scope,
    rateLimited: rules.rateLimited,
    maxBodyBytes: rules.rateLimited ? maxBodyBytes : maxUnlimitedBodyBytes,
    idempotent: rules.idempotent,
    answersSecret: hasSecret(method.output, new Set()),
    writes: httpPlan?.verb !== 'GET' && !readingScopes.has(scope),
    relayer,
    reasons: rules.reasons.map((reason) => knownReason(reason, name)),
    relayerNotFoundText: (relayerId) => notFoundText.replace('{relayer_id}', () => relayerId),
    http: httpPlan,
  };
}

function hasSecret(desc: DescMessage, seen: Set<DescMessage>): boolean {
  if (seen.has(desc)) return false;
  seen.add(desc);
  return desc.fields.some(
    ({ proto, message }) => proto.options?.debugRedact === true || (message !== undefined && hasSecret(message, seen)),
  );
}

function knownReason(text: string, method: string): ErrorReason {
  const reason = errorReasons.find((known) => known === text);
  if (reason === undefined) throw new Error(`${method} declares the unknown reason ${text}`);
  return reason;
}

function compileHttpPlan(
  method: DescMethod,
  name: string,
  { successStatus, bare, mergePatch, storeAwayIsInternal, passesOn }: MethodRules,
): HttpPlan {
  const rule = getOption(method, http);
  const isStream = method.methodKind !== 'unary';
  if (isStream && (method.methodKind !== 'server_streaming' || rule.pattern.case !== 'get' || rule.responseBody !== '' || bare))
    throw new Error(`${name} is a stream, which REST serves only from the server, by GET, as events`);
  if (rule.pattern.case === undefined || rule.pattern.case === 'custom') throw new Error(`${name} has a verb that REST does not serve`);
  if (rule.additionalBindings.length > 0) throw new Error(`${name} has additional bindings, which REST does not serve`);
  if (rule.body !== '' && rule.body !== '*') throw new Error(`${name} has a body other than *`);
  if (passesOn && rule.pattern.case !== 'post') throw new Error(`${name} passes requests on, which REST does only for POST`);
  if (rule.responseBody !== '' && !method.output.fields.some((field) => field.name === rule.responseBody)) {
    throw new Error(`${name} answers with ${rule.responseBody}, which its response does not have`);
  }
  return {
    verb: rule.pattern.case.toUpperCase() as Verb,
    template: rule.pattern.value,
    hasBody: rule.body === '*',
    responseField: rule.responseBody === '' ? null : rule.responseBody,
    successStatus: successStatus || 200,
    bare,
    mergePatch,
    storeAwayIsInternal,
    passesOn,
  };
}
