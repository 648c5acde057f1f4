import type { DescMethodUnary, DescService } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { CodecCompiler } from '../../codec/message-codec.js';
import { Reading } from '../../codec/reading.js';
import { mayUseRelayer } from '../../core/access/principal.js';
import { DomainError } from '../../core/errors.js';
import type { Log } from '../../core/ports/log.js';
import type { NetworkType } from '../../core/relayer/network.js';
import type { Call } from '../contract/call.js';
import { domainErrorOf } from '../contract/errors.js';
import type { MethodPlan } from '../contract/method-plan.js';
import { composeDispatch, type Dispatch, isUnary } from './dispatch.js';
import { type RestExchange, writeError, writeJson } from './exchange.js';
import { readBody } from './read-body.js';
import { compileRequestReader, type RequestReader } from './request-reader.js';
import { compileResponseWriter, type ResponseWriter } from './response-writer.js';
import { RestContext } from './rest-context.js';
import { compileRoutes, type RestMatch, type RouteMatch } from './routes.js';

/** What the gateway works with. */
export interface RestGatewayDeps {
  readonly plans: readonly MethodPlan[];
  /** The very objects that RPC calls. A service or method that is missing answers 501. */
  readonly served: readonly { readonly service: DescService; readonly implementation: object }[];
  /** The very interceptors that RPC calls pass, outermost first. */
  readonly interceptors: readonly Interceptor[];
  /** The kind of a relayer's network, to choose the shape of a body; undefined: no such relayer. */
  networkTypeOf(relayerId: string): NetworkType | undefined;
  readonly log: Log;
}

/** REST, the fourth protocol: it speaks JSON in an envelope and calls services in process. */
export interface RestGateway {
  /** What a verb and a path (without query) mean to REST. */
  match(verb: string, path: string): RestMatch;
  /** Reads, calls and answers. Resolves when the answer is written, or nobody waits for one; never rejects. */
  handle(match: RouteMatch, exchange: RestExchange): Promise<void>;
  /** Answers with the error envelope. */
  fail(exchange: RestExchange, error: DomainError): void;
}

/** What is compiled of a method. */
interface Endpoint {
  readonly method: DescMethodUnary;
  readonly successStatus: number;
  readonly hasBody: boolean;
  readonly read: RequestReader;
  readonly dispatch: Dispatch;
  readonly write: ResponseWriter;
}

/** Compiles the REST side of all methods that have a route. Throws where an annotation makes no sense: the service must not start then. */
export function createRestGateway(deps: RestGatewayDeps): RestGateway {
  const match = compileRoutes(deps.plans);
  const endpoints = compileEndpoints(deps);

  async function handle({ plan, params }: RouteMatch, exchange: RestExchange): Promise<void> {
    const { call } = exchange;
    const endpoint = endpoints.get(plan);
    if (plan.http === null || plan.method.methodKind !== 'unary' || endpoint === undefined)
      throw new Error(`${plan.rpcPath} has no REST route`);
    try {
      const body = endpoint.hasBody ? await readBody(exchange.request) : null;
      if (endpoint.hasBody && body === null) return;
      const reading = new Reading(shapeFor(params.relayer_id, call), call.warnings);
      const message = endpoint.read({ params, query: exchange.query, body }, reading);
      call.bodyProblem = reading.problem;
      const context = new RestContext(endpoint.method, exchange, call);
      const text = endpoint.write(await endpoint.dispatch(message, context));
      writeJson(exchange, endpoint.successStatus, text, context.answerHeaders);
    } catch (error) {
      const told = domainErrorOf(error);
      // What came through the error interceptor is logged by it, and is a ConnectError by now.
      if (told.kind === 'internal' && !(error instanceof DomainError) && told.cause === error) {
        deps.log.error({ requestId: call.requestId, err: error }, 'the REST gateway failed');
      }
      writeError(exchange, told);
    }
  }

  /** A relayer that the key may not use is as good as unknown here, so that the way a body is read tells nothing about it. */
  function shapeFor(relayerId: string | undefined, { principal }: Call): NetworkType | undefined {
    if (relayerId === undefined || (principal !== null && !mayUseRelayer(principal, relayerId))) return undefined;
    return deps.networkTypeOf(relayerId);
  }

  return { match, handle, fail: writeError };
}

function compileEndpoints({ plans, served, interceptors }: RestGatewayDeps): ReadonlyMap<MethodPlan, Endpoint> {
  const compiler = new CodecCompiler();
  const implementations = new Map(served.map(({ service, implementation }) => [service.typeName, implementation]));
  const endpoints = new Map<MethodPlan, Endpoint>();
  for (const plan of plans) {
    const { method } = plan;
    if (plan.http === null || !isUnary(method)) continue;
    endpoints.set(plan, {
      method,
      successStatus: plan.http.successStatus,
      hasBody: plan.http.hasBody,
      read: compileRequestReader(plan, compiler),
      dispatch: composeDispatch(method, implementations.get(method.parent.typeName) ?? {}, interceptors),
      write: compileResponseWriter(plan, compiler),
    });
  }
  return endpoints;
}
