import { createContextValues } from '@connectrpc/connect';
import { DomainError } from '../core/errors/errors.js';
import { noTelemetry, type Telemetry } from '../core/ports/telemetry.js';
import type { AuditRefusal } from './contract/audit.js';
import { type Call, callBegun, callKey } from './contract/call.js';
import type { MethodPlan } from './contract/method-plan.js';
import type { CallerAddress } from './guards/caller-address.js';
import type { RateLimit } from './guards/rate-limit.js';
import { type Authenticate, checkAddress, checkBodySize, checkHost, checkScope, principalOf, requestIdOf } from './guards/request-head.js';
import { createStreamLimit, streamLimits } from './guards/stream-limit.js';
import type { BrakeWrongKeys } from './guards/wrong-key-brake.js';
import { breakOff, drainAfterAnswer, writeAnswer } from './http/answer.js';
import type { Cors } from './http/cors.js';
import { type ApiRequest, type ApiResponse, type Header, headerValuesOf } from './http/header.js';
import type { Page } from './http/page.js';
import { noStore, protectiveHeaders } from './http/protective-headers.js';
import { createRequestWatch } from './request-watch.js';
import type { RestGateway } from './rest/gateway.js';
import { writeProtocolError } from './rpc/protocol-error.js';
import { acceptedEncodings, maxContentLength, readRpcHead } from './rpc/request-checks.js';
import { createRpcAdapter, type RpcAdapterOptions } from './rpc/rpc-adapter.js';
import { createTargets, isStream, type Target } from './target.js';

export interface HandlerOptions extends RpcAdapterOptions {
  readonly plans: readonly MethodPlan[];
  readonly rest: RestGateway;
  /** Paths that are neither REST nor RPC: health, readiness and the like. */
  readonly pages: readonly Page[];
  readonly authenticate: Authenticate;
  readonly brakeWrongKeys: BrakeWrongKeys;
  readonly addressOf: CallerAddress;
  /** The limit for methods that declare one; null: none. */
  readonly rateLimit: RateLimit | null;
  readonly cors: Cors;
  /** Returns ids that sort by time. */
  readonly newRequestId: () => string;
  readonly telemetry?: Telemetry;
  /** Writes the audit line of a key that the guards refuse. */
  readonly auditRefusal: AuditRefusal;
  /** True: another instance has newer configuration files, so this one changes and signs nothing. */
  readonly isSuperseded?: () => boolean;
}

const supersededText = 'this instance has older configuration files than another one; retry, at another instance';

/**
 * Creates the handler of all requests. It runs the guards in the order of checks, before it reads a body, then passes the request to REST,
 * RPC or a page. It never throws. Creating it throws if a registered method declares no scope.
 */
export function createHandler(options: HandlerOptions): (request: ApiRequest, response: ApiResponse) => void {
  const {
    rest,
    authenticate,
    brakeWrongKeys,
    addressOf,
    rateLimit,
    cors,
    newRequestId,
    log,
    telemetry = noTelemetry,
    auditRefusal,
    isSuperseded = () => false,
  } = options;
  const openStream = createStreamLimit(streamLimits);
  const watch = createRequestWatch(log, telemetry);
  const rpc = createRpcAdapter(options);
  const targetOf = createTargets({ ...options, rpcHandlers: rpc.handlers });

  return (request, response) => {
    const method = request.method ?? '';
    const { path, query } = partsOf(request.url ?? '');
    const requestId = requestIdOf(request, newRequestId);
    const headers: Header[] = [['x-request-id', requestId], ...protectiveHeaders(request), ...cors.answerHeaders(request)];
    const target = targetOf(method, path, request.headers['content-type']);
    // Read now: the socket of a caller that left has none.
    const callerAddress = addressOf(request);
    let isCheckingKey = false;
    const watched = watch({ request, response, path, requestId, target });
    // Requests and answers may break off; without listeners that would end the process.
    request.on('error', ignore);
    response.on('error', ignore);
    drainAfterAnswer(request, response);

    try {
      checkHost(request);
      if (method === 'OPTIONS') {
        writeAnswer(request, response, { status: 204, headers: [...headers, ...cors.preflightHeaders(request)], body: null });
        return;
      }
      checkFound(target);
      if (target.scope !== 'public') {
        headers.push(noStore);
        isCheckingKey = true;
        const principal = principalOf(request, authenticate, () => brakeWrongKeys(callerAddress));
        isCheckingKey = false;
        watched.principal = principal;
        checkAddress(principal, callerAddress);
        checkScope(principal, target.scope);
        if ('writes' in target && target.writes && isSuperseded())
          throw new DomainError('unavailable', 'SERVICE_UNAVAILABLE', supersededText);
        if (target.rateLimited) rateLimit?.(principal, headers);
      }
      watched.within(() => serve(target));
    } catch (error) {
      fail(error);
    }

    function serve(found: Found): void {
      switch (found.kind) {
        case 'rest':
          checkBodySize(request, found.maxBodyBytes);
          if (isStream(found)) enterStream();
          rest.handle(found.match, exchange()).catch(fail);
          return;
        case 'rpc':
          serveRpc(found);
          return;
        case 'page':
          checkBodySize(request, found.maxBodyBytes);
          writePage(found.page).catch(fail);
          return;
      }
    }

    function serveRpc({ handler, maxBodyBytes: maxBytes }: Extract<Found, { kind: 'rpc' }>): void {
      checkBodySize(request, maxBytes, maxContentLength(handler, request.headers['content-type'], maxBytes));
      const head = readRpcHead(handler, request, query);
      if (handler.method.methodKind !== 'unary') enterStream();
      for (const [name, value] of headers) response.setHeader(name, value);
      rpc.serve(handler, { request, response, head, maxBytes, values: createContextValues().set(callKey, exchange().call), fail });
    }

    function enterStream(): void {
      const connection = 'stream' in request ? (request.stream.session ?? request) : request.socket;
      response.once('close', openStream({ principal: watched.principal, address: callerAddress, connection }));
    }

    function exchange() {
      const call: Call = {
        requestId,
        callerAddress,
        path: watched.path,
        startedAtMs: watched.startedAtMs,
        auditFacts: {},
        fieldNames: target.rpc ? 'proto' : 'rest',
        principal: watched.principal,
        warnings: [],
        idempotencyKeys: headerValuesOf(request, 'idempotency-key'),
        traceParent: watched.traceParent,
        traceId: watched.traceId,
        ...callBegun,
      };
      watched.call = call;
      return { request, response, call, query, headOnly: method === 'HEAD', headers, takeToken, noteRefusal };
    }

    /** Each call of a batch takes a token; the guards took the first call's token. */
    function takeToken(): void {
      if ('rateLimited' in target && target.rateLimited && watched.principal !== null) rateLimit?.(watched.principal, []);
    }

    async function writePage(page: Page): Promise<void> {
      const { status, contentType, headers: own = [], body } = await page.render(request, watched.principal);
      writeAnswer(request, response, { status, headers: [...headers, ['content-type', contentType], ...own], body });
    }

    /**
     * Writes an audit line of a wrong key, of one that cannot be checked, and of a known key that is not served, unless the call has its
     * line.
     */
    function noteRefusal(failure: DomainError): void {
      const { principal, call } = watched;
      if (call?.isAudited) return;
      const isWrongKey = failure.kind === 'unauthenticated' || isCheckingKey;
      const isWrite = principal !== null && 'writes' in target && target.writes;
      if (!isWrongKey && !isWrite && failure.kind !== 'forbidden' && failure.reason !== 'RATE_LIMITED') return;
      auditRefusal({ requestId, callerAddress, principal, method: 'label' in target ? target.label : null, failure });
    }

    function fail(error: unknown): void {
      if (!(error instanceof DomainError)) log.error({ requestId, err: error }, 'a request failed');
      if (response.headersSent) {
        breakOff(response);
        return;
      }
      const failure = error instanceof DomainError ? error : new DomainError('internal', 'INTERNAL', 'Internal Server Error');
      watched.failure = failure;
      noteRefusal(failure);
      if (failure.kind === 'unauthenticated') headers.push(['www-authenticate', 'Bearer']);
      // A caller that streams on would wait for an answer that never comes.
      if (failure.kind === 'http_version_not_supported') headers.push(['connection', 'close']);
      if (failure.reason === 'ENCODING_UNSUPPORTED') headers.push(acceptedEncodings(request));
      if (target.kind === 'wrong_verb' && target.rpc) headers.push(['allow', target.allow.join(', ')]);
      if (target.rpc) writeProtocolError(request, response, failure, { requestId, headers });
      else rest.fail(exchange(), failure);
    }
  };
}

const ignore = (): void => undefined;

type Found = Exclude<Target, { kind: 'none' } | { kind: 'not_offered' } | { kind: 'wrong_verb' }>;

/** Throws `path_not_found`, `unimplemented` or `method_not_allowed` unless the target can be served. */
function checkFound(target: Target): asserts target is Found {
  if (target.kind === 'none') throw new DomainError('path_not_found', 'PATH_NOT_FOUND', 'this path does not exist');
  if (target.kind === 'not_offered') throw new DomainError('unimplemented', 'NOT_IMPLEMENTED', target.sentence);
  if (target.kind === 'wrong_verb') {
    throw new DomainError('method_not_allowed', 'METHOD_NOT_ALLOWED', `this path accepts only ${target.allow.join(', ')}`, {
      metadata: { allow: target.allow.join(', ') },
    });
  }
}

/** Splits a request's target into path and query. Proxies send it with a host (`GET http://host/path`), which is ignored. */
function partsOf(url: string): { path: string; query: string } {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const mark = target.indexOf('?');
  return mark === -1 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}
