import type { UniversalHandler } from '@connectrpc/connect/protocol';
import type { MethodPlan, RequiredScope } from './contract/method-plan.js';
import { maxUnlimitedBodyBytes } from './contract/shared-errors.js';
import type { Page } from './http/page.js';
import type { RestGateway } from './rest/gateway.js';
import type { RestMatch } from './rest/routes.js';
import { rpcProtocolOf } from './rpc/protocol-error.js';

/** The target of a request, known from its verb, path and content type alone. `rpc`: errors are answered in an RPC protocol. */
export type Target =
  | (Access & { readonly kind: 'rest'; readonly rpc: false; readonly match: Extract<RestMatch, { kind: 'route' }> })
  | (Access & { readonly kind: 'rpc'; readonly rpc: true; readonly handler: UniversalHandler })
  | (Access & { readonly kind: 'page'; readonly rpc: false; readonly page: Page })
  | { readonly kind: 'wrong_verb'; readonly rpc: boolean; readonly allow: readonly string[] }
  | { readonly kind: 'not_offered'; readonly rpc: false; readonly sentence: string }
  | { readonly kind: 'none'; readonly rpc: boolean };

/** True if the answer is a stream of messages. */
export function isStream(target: Target): boolean {
  if (target.kind === 'rest') return target.match.plan.method.methodKind !== 'unary';
  return target.kind === 'rpc' && target.handler.method.methodKind !== 'unary';
}

/** The scope that a target requires, and whether a call takes a rate-limit token. */
interface Access {
  /** The name in metrics: `TransactionService.SendTransaction`, or the path of a page. */
  readonly label: string;
  readonly scope: RequiredScope;
  readonly rateLimited: boolean;
  /** See `MethodPlan`. */
  readonly writes: boolean;
  readonly maxBodyBytes: number;
}

/** The routes of all protocols. */
export interface TargetsOptions {
  readonly plans: readonly MethodPlan[];
  readonly rest: Pick<RestGateway, 'match'>;
  /** By path. */
  readonly rpcHandlers: ReadonlyMap<string, UniversalHandler>;
  readonly pages: readonly Page[];
}

/** The scopes of the standard services; ours declare them in their options. */
const standardScopes: Readonly<Record<string, RequiredScope>> = {
  'grpc.health.v1.Health': 'public',
  'grpc.reflection.v1.ServerReflection': 'authenticated',
  'grpc.reflection.v1alpha.ServerReflection': 'authenticated',
};

/** `/package.Service/Method`: a caller of such a path speaks RPC, whether the method exists or not. */
const rpcPathPattern = /^\/[A-Za-z_][\w.]*\.[A-Za-z_]\w*\/[A-Za-z_]\w*$/;

/**
 * The paths of OpenZeppelin Relayer that this service does not support, and what to do instead. They answer 501, so that a client of that
 * service can distinguish them from a misspelled path.
 */
const notOffered: readonly (readonly [path: RegExp, sentence: string])[] = [
  [
    /^\/api\/v1\/relayers\/[^/]+\/transactions\/sponsored\/[^/]+\/?$/,
    'sponsored transactions are not supported; send a transaction whose fee the relayer pays',
  ],
  [/^\/api\/v1\/api-keys\/[^/]+\/permissions\/?$/, 'permissions of API keys are not supported; GET /api/v1/api-keys shows their scopes'],
  [/^(\/api\/v1)?\/(metrics\/[^/]+|debug\/metrics\/scrape)\/?$|^\/api\/v1\/metrics\/?$/, 'metrics are available only at /metrics'],
];

/** Creates the target lookup. Throws if a registered RPC method declares no scope, so that none is reachable by accident. */
export function createTargets({
  plans,
  rest,
  rpcHandlers,
  pages,
}: TargetsOptions): (method: string, path: string, contentType: string | undefined) => Target {
  const rpcTargets = rpcTargetsOf(rpcHandlers, plans);
  const pageByPath = new Map(pages.map((page) => [page.path, page]));
  return (method, path, contentType) => {
    const rpcTarget = rpcTargets.get(path);
    if (rpcTarget !== undefined) {
      const allow = rpcTarget.handler.allowedMethods;
      return allow.includes(method) ? rpcTarget : { kind: 'wrong_verb', rpc: true, allow };
    }
    const verb = method === 'HEAD' ? 'GET' : method;
    const page = pageByPath.get(path !== '/' && path.endsWith('/') ? path.slice(0, -1) : path);
    if (page !== undefined) {
      if (verb !== 'GET') return { kind: 'wrong_verb', rpc: false, allow: ['GET', 'HEAD'] };
      return {
        kind: 'page',
        rpc: false,
        page,
        label: page.path,
        scope: page.scope,
        rateLimited: false,
        writes: false,
        maxBodyBytes: maxUnlimitedBodyBytes,
      };
    }
    const match = rest.match(verb, path);
    if (match.kind === 'route') {
      const { label, scope, rateLimited, writes, maxBodyBytes } = match.plan;
      return { kind: 'rest', rpc: false, match, label, scope, rateLimited, writes, maxBodyBytes };
    }
    if (match.kind === 'wrong_verb') return { kind: 'wrong_verb', rpc: false, allow: match.allow };
    const sentence = notOfferedAt(path);
    if (sentence !== undefined) return { kind: 'not_offered', rpc: false, sentence };
    return { kind: 'none', rpc: isRpc(path, contentType) };
  };
}

/** True if the caller of a path that need not exist speaks RPC. */
export function isRpc(path: string, contentType: string | undefined): boolean {
  return rpcPathPattern.test(path) || rpcProtocolOf(contentType) !== 'connect';
}

function rpcTargetsOf(handlers: ReadonlyMap<string, UniversalHandler>, plans: readonly MethodPlan[]) {
  const planByPath = new Map(plans.map((plan) => [plan.rpcPath, plan]));
  return new Map(
    [...handlers].map(([path, handler]) => {
      const plan = planByPath.get(path);
      const scope = plan?.scope ?? standardScopes[handler.service.typeName];
      if (scope === undefined) throw new Error(`${path} declares no scope`);
      const label = `${handler.service.name}.${handler.method.name}`;
      const { rateLimited, writes, maxBodyBytes } = plan ?? { rateLimited: false, writes: false, maxBodyBytes: maxUnlimitedBodyBytes };
      return [path, { kind: 'rpc' as const, rpc: true as const, handler, label, scope, rateLimited, writes, maxBodyBytes }];
    }),
  );
}

/** Returns what to do instead if this is a path of OpenZeppelin Relayer that this service does not support. */
function notOfferedAt(path: string): string | undefined {
  return notOffered.find(([pattern]) => pattern.test(path))?.[1];
}
