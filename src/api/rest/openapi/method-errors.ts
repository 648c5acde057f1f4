import { unionRulesOf } from '../../../codec/field-rules.js';
import { type ErrorKind, type ErrorReason, errorReasons } from '../../../core/errors.js';
import type { HttpPlan, MethodPlan } from '../../contract/method-plan.js';
import { parsePathTemplate } from '../path-template.js';
import {
  errorKinds,
  errorRef,
  errorResponse,
  kindsByStatus,
  type ReasonText,
  reasonKinds,
  reasonsOf,
  reasonTexts,
  textOf,
} from './error-responses.js';
import type { Schema } from './schema.js';

/** Returns the error responses of a method by status. `isBuilt`: the method is implemented. */
export function methodErrors(plan: MethodPlan, http: HttpPlan, isBuilt: boolean): Readonly<Record<string, Schema>> {
  const kinds = errorKinds.filter((kind) => canAnswer(plan, http, isBuilt, kind));
  return Object.fromEntries(
    [...kindsByStatus(kinds)].map(([status, some]) => [
      status,
      status === 404 || status === 409 ? ownResponse(plan, http, some) : errorRef(some),
    ]),
  );
}

function canAnswer(plan: MethodPlan, http: HttpPlan, isBuilt: boolean, kind: ErrorKind): boolean {
  switch (kind) {
    case 'path_not_found':
    case 'method_not_allowed':
      return false;
    case 'unauthenticated':
    case 'forbidden':
      return plan.scope !== 'public';
    case 'inactive':
      return plan.relayer === 'active';
    case 'not_found':
      return http.template.includes('{');
    case 'already_exists':
      return declares(plan, kind);
    case 'aborted':
    case 'unprocessable':
      return plan.idempotent;
    case 'too_large':
    case 'unsupported_media_type':
      return http.hasBody;
    case 'rate_limited':
      return plan.rateLimited;
    case 'unimplemented':
      return !isBuilt || declares(plan, kind) || hasNetworkShapes(plan);
    default:
      return true;
  }
}

/** Returns true if the method's options name a reason of this kind. */
function declares({ reasons }: MethodPlan, kind: ErrorKind): boolean {
  return reasons.some((reason) => reasonKinds[reason].includes(kind));
}

/** Returns true if the request has a part per network: parts of it can be unimplemented. */
function hasNetworkShapes({ method }: MethodPlan): boolean {
  return method.input.oneofs.some((oneof) => unionRulesOf(oneof).selector.case === 'relayerNetwork');
}

/** Returns a response with the reasons that the method's options name, and those of the resources in its path. */
function ownResponse(plan: MethodPlan, http: HttpPlan, kinds: readonly ErrorKind[]): Schema {
  const fitting = errorReasons.filter((reason) => reasonKinds[reason].some((kind) => kinds.includes(kind)));
  const named = fitting.filter((reason) => plan.reasons.includes(reason) || notFoundReasons(http).includes(reason));
  const running = kinds.includes('aborted') ? reasonsOf(['aborted']) : [];
  return errorResponse(kinds, [...named.map((reason) => reasonText(plan, reason, kinds)), ...running]);
}

/** Derives reasons: `{transaction_id}` in the path, or a GET that returns a `transaction`, gives `TRANSACTION_NOT_FOUND`. */
function notFoundReasons({ verb, template, responseField }: HttpPlan): readonly string[] {
  const variables = parsePathTemplate(template).flatMap((segment) =>
    segment.kind === 'variable' ? [segment.name.replace(/_id$/, '')] : [],
  );
  return [...variables, (verb === 'GET' && responseField) || ''].map((name) => `${name.toUpperCase()}_NOT_FOUND`);
}

function reasonText(plan: MethodPlan, reason: ErrorReason, kinds: readonly ErrorKind[]): ReasonText {
  const text = reason === 'RELAYER_NOT_FOUND' ? plan.relayerNotFoundText('<relayer_id>') : reasonTexts[reason];
  return { reason, text: text ?? textOf(kinds) };
}
