import type { DescService } from '@bufbuild/protobuf';
import { type Client, createClient, createRouterTransport, type Interceptor, type ServiceImpl } from '@connectrpc/connect';
import { type Call, callKey, noStoredResponse } from '../../src/api/contract/call.js';
import { createErrorInterceptor } from '../../src/api/contract/errors.js';
import { createGate } from '../../src/api/contract/gate.js';
import { compileMethodPlans } from '../../src/api/contract/method-plan.js';
import type { ServeOnce } from '../../src/api/contract/stored-response.js';
import { createWarnings } from '../../src/api/contract/warnings.js';
import type { Principal } from '../../src/core/records/principal.js';
import { anyone, neverOnce, relayers } from './rest-rig.js';

/** A service behind our interceptors, called in memory over Connect. */
export interface RpcRig<T extends DescService> {
  readonly client: Client<T>;
  readonly lines: { fields: Record<string, unknown>; message: string }[];
}

/** How calls of a rig with an idempotency key are served. */
export interface RigIdempotency {
  readonly keys: readonly string[];
  readonly serveOnce: ServeOnce;
}

/** Makes a rig; the guards' part is a call of `principal`, which carries no idempotency key unless it is said. */
export function createRpcRig<T extends DescService>(
  service: T,
  implementation: Partial<ServiceImpl<T>>,
  principal: Principal | null = anyone,
  { keys, serveOnce }: RigIdempotency = { keys: [], serveOnce: neverOnce },
  { bodyProblem = null }: Partial<Pick<Call, 'bodyProblem'>> = {},
): RpcRig<T> {
  const lines: RpcRig<T>['lines'] = [];
  const write = (fields: object, message: string) => lines.push({ fields: fields as Record<string, unknown>, message });
  const log = { debug: write, info: write, warn: write, error: write };
  const guards: Interceptor = (next) => (request) => {
    const call: Call = {
      requestId: 'request-1',
      callerAddress: null,
      path: '/',
      startedAtMs: 0,
      auditFacts: {},
      auditedStatus: null,
      isAudited: false,
      principal,
      warnings: [],
      bodyProblem,
      traceParent: null,
      traceId: null,
      failure: null,
      relayer: null,
      idempotencyKeys: keys,
      fieldNames: 'proto',
      storedResponse: noStoredResponse,
      complete: null,
      waitedMs: 0,
    };
    request.contextValues.set(callKey, call);
    return next(request);
  };
  const gate = createGate({
    plans: compileMethodPlans([service]),
    directory: { relayer: (id) => relayers.get(id) },
    serveOnce,
    checkOf: () => undefined,
  });
  const transport = createRouterTransport((router) => router.service(service, implementation), {
    router: { interceptors: [guards, createErrorInterceptor({ log }), createWarnings(), gate] },
  });
  return { client: createClient(service, transport), lines };
}
