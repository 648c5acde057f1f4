import type { OutgoingHttpHeaders } from 'node:http';
import type { DescMethodUnary, DescService, Message } from '@bufbuild/protobuf';
import { Code, ConnectError, createContextValues, type Interceptor } from '@connectrpc/connect';
import { fieldRulesOf } from '../../codec/field-rules.js';
import { CodecCompiler } from '../../codec/message-codec.js';
import { Reading } from '../../codec/reading.js';
import { DomainError, invalidFields } from '../../core/errors/errors.js';
import type { NetworkType } from '../../core/records/network.js';
import { mayUseRelayer } from '../../core/records/principal.js';
import type { Log } from '../../core/work/log.js';
import type { JsonObject } from '../../json/json-value.js';
import { type Call, callKey } from '../contract/call.js';
import { errorTable } from '../contract/error-table.js';
import { domainErrorOf, internal, isStoreAway, retryAfterMsOf, retryAfterText } from '../contract/errors.js';
import { objectOf } from '../contract/json-body.js';
import type { MethodPlan } from '../contract/method-plan.js';
import { type AnswerWriter, endOnShutdown, isGone, writable } from '../http/answer.js';
import { type ApiRequest, type ApiResponse, type Header, headerValuesOf } from '../http/header.js';
import { readBytes } from '../http/read-bytes.js';
import { composeDispatch, type Dispatch, isUnary, UnaryContext } from '../unary/dispatch.js';
import { compileEventWriter, composeStream, type EventWriter, eventText, type OpenEvents } from './event-stream.js';
import { answerJsonRpc } from './json-rpc.js';
import { answerOfPassedOn, type Envelopes, passedOnFrom, type WholeAnswer } from './pass-on.js';
import { readBody } from './read-body.js';
import { compileRequestReader, type RequestReader } from './request-reader.js';
import { compileResponseWriter, type ResponseWriter } from './response-writer.js';
import { compileRoutes, type RestMatch, type RouteMatch } from './routes.js';

/** The parts of REST that the definitions alone determine. */
export interface CompiledRest {
  readonly match: (verb: string, path: string) => RestMatch;
  /** How a method's requests are read and its responses are written. */
  readonly forms: ReadonlyMap<MethodPlan, { readonly read: RequestReader; readonly write: (message: Message) => string }>;
}

export interface RestGatewayDeps {
  readonly compiled: CompiledRest;
  /** The same objects that RPC calls. A missing service or method answers 501. */
  readonly served: readonly { readonly service: DescService; readonly implementation: object }[];
  /** The same interceptors that RPC calls pass, outermost first. */
  readonly interceptors: readonly Interceptor[];
  /** Aborts when the service begins to stop, which ends all streams. */
  readonly shutdownSignal: AbortSignal;
  /** Returns the network type of a relayer, which decides the shape of a body; undefined: no such relayer. */
  networkTypeOf(relayerId: string): NetworkType | undefined;
  readonly log: Log;
}

/** REST, the fourth protocol: JSON in an envelope, calling the services in process. */
export interface RestGateway {
  /** Matches a verb and a path without its query. */
  match(verb: string, path: string): RestMatch;
  /** Reads the request, calls the method and answers. Resolves when the answer is written or the caller is gone; never rejects. */
  handle(match: RouteMatch, exchange: RestExchange): Promise<void>;
  /** Answers with the error envelope. */
  fail(exchange: RestExchange, error: DomainError): void;
}

/** The compiled parts of a unary method. */
interface Endpoint {
  readonly method: DescMethodUnary;
  readonly successStatus: number;
  readonly hasBody: boolean;
  /** True: a body is a mistake, such as a revision that would not be read. */
  readonly refusesBody: boolean;
  /** True: the body is a JSON merge patch. */
  readonly isMergePatch: boolean;
  /** True: the body is a JSON-RPC call or a batch of them. */
  readonly isJsonRpc: boolean;
  readonly passesOn: boolean;
  readonly read: RequestReader;
  readonly dispatch: Dispatch;
  readonly write: ResponseWriter;
}

/** The compiled parts of a method that answers with server-sent events. */
interface Stream {
  readonly read: RequestReader;
  readonly open: OpenEvents;
  readonly write: EventWriter;
}

/** Compiles the REST side of all methods that have a route. Throws if an annotation is inconsistent, so that the service does not start. */
export function compileRest(plans: readonly MethodPlan[]): CompiledRest {
  const compiler = new CodecCompiler();
  const routed = plans.filter(({ http }) => http !== null);
  const formOf = (plan: MethodPlan) => ({
    read: compileRequestReader(plan, compiler),
    write: isUnary(plan.method) ? compileResponseWriter(plan, compiler) : compileEventWriter(plan, compiler),
  });
  return { match: compileRoutes(plans), forms: new Map(routed.map((plan) => [plan, formOf(plan)])) };
}

/** Creates the gateway to these services. */
export function createRestGateway(deps: RestGatewayDeps): RestGateway {
  const { match } = deps.compiled;
  const { endpoints, streams } = composeEndpoints(deps);

  async function handle({ plan, params }: RouteMatch, exchange: RestExchange): Promise<void> {
    const { call } = exchange;
    const endpoint = endpoints.get(plan);
    const stream = streams.get(plan);
    if (plan.http === null) throw new Error(`${plan.rpcPath} has no REST route`);
    try {
      if (stream !== undefined) return await serveEvents(stream, messageOf(stream, params, null, exchange), exchange);
      if (endpoint === undefined) throw new Error(`${plan.rpcPath} has no REST route`);
      if (endpoint.passesOn) {
        const message = await passedOnFrom(exchange, params, plan.maxBodyBytes);
        if (message === null) return;
        const { answer } = await dispatched(endpoint, message, exchange);
        writeAnswer(exchange, answerOfPassedOn(answer, { success: endpoint.write, failure: (parts) => failureText(parts, call) }));
        return;
      }
      // A query is a mistake of the request as a whole.
      if (endpoint.isJsonRpc && exchange.query === '') {
        const body = await bodyOf(plan, endpoint, exchange);
        if (body === null) return;
        const callOne = (one: JsonObject) => {
          const own = { ...exchange, call: { ...call, warnings: [] } };
          return serve(endpoint, messageOf(endpoint, params, one, own), own);
        };
        const text = await answerJsonRpc(body.value, async (one) => (await callOne(one)).text, exchange.takeToken);
        writeJson(exchange, endpoint.successStatus, text, []);
        return;
      }
      const message = await readMessage(plan, endpoint, params, exchange);
      if (message === null) return;
      const { text, headers } = await serve(endpoint, message, exchange);
      writeJson(exchange, endpoint.successStatus, text, headers);
    } catch (error) {
      const failure = domainErrorOf(error);
      // The error interceptor has logged the errors that passed it, and made them ConnectErrors.
      if (failure.kind === 'internal' && !(error instanceof DomainError) && failure.cause === error) {
        deps.log.error({ requestId: call.requestId, err: error }, 'the REST gateway failed');
      }
      exchange.noteRefusal(failure);
      writeError(exchange, isStoreAway(failure) && plan.http.storeAwayIsInternal ? internal(failure.cause) : failure);
    }
  }

  async function bodyOf(plan: MethodPlan, { hasBody, refusesBody, isMergePatch }: Endpoint, { request }: RestExchange) {
    if (refusesBody && (await readBytes(request, { limit: 0, tooLarge: bodyRefused })) === null) return null;
    return hasBody ? readBody(request, { isMergePatch, maxBytes: plan.maxBodyBytes }) : { value: null };
  }

  /** Apart from the call, which may wait for minutes, and would hold the body. Null if the caller left. */
  async function readMessage(plan: MethodPlan, endpoint: Endpoint, params: RouteMatch['params'], exchange: RestExchange) {
    const body = await bodyOf(plan, endpoint, exchange);
    return body === null ? null : messageOf(endpoint, params, endpoint.hasBody ? objectOf(body.value) : null, exchange);
  }

  function messageOf(
    { read }: Pick<Endpoint, 'read'>,
    params: RouteMatch['params'],
    body: JsonObject | null,
    { call, query, request }: RestExchange,
  ) {
    const reading = new Reading(shapeFor(params.relayer_id, call), call.warnings);
    const [ifMatch, prefer] = [headerValuesOf(request, 'if-match'), headerValuesOf(request, 'prefer')];
    const lastEventId = headerValuesOf(request, 'last-event-id');
    const message = read({ params, query, body, ifMatch, prefer, lastEventId }, reading);
    call.bodyProblem = reading.problem;
    return message;
  }

  /** Calls the method. Rejects with the error that it throws; errors that passed the interceptors are ConnectErrors. */
  async function serve(endpoint: Endpoint, message: Message, exchange: RestExchange) {
    const { answer, headers } = await dispatched(endpoint, message, exchange);
    return { text: endpoint.write(answer), headers };
  }

  async function dispatched(endpoint: Endpoint, message: Message, { request, response, call }: RestExchange) {
    const values = createContextValues().set(callKey, call);
    // REST has no deadlines.
    const context = new UnaryContext(endpoint.method, { request, response, values, protocolName: 'rest', deadlineMs: null });
    return { answer: await endpoint.dispatch(message, context), headers: context.answerHeaders };
  }

  /**
   * Writes a stream as server-sent events until it ends or its caller leaves. What fails before the first event rejects, and gets the
   * envelope of an error; what fails later is the event `error`. A stream without events is 204, which tells browsers not to connect again.
   */
  async function serveEvents({ open, write }: Stream, message: Message, exchange: RestExchange): Promise<void> {
    const { request, response, call, headOnly } = exchange;
    const work = new AbortController();
    response.once('close', () => work.abort(new ConnectError('the caller left', Code.Canceled)));
    endOnShutdown(deps.shutdownSignal, work, response);
    const events = await open(message, { request, values: createContextValues().set(callKey, call), signal: work.signal });
    const source = events[Symbol.asyncIterator]();
    try {
      let next = await source.next();
      if (isGone(response)) return;
      writeEventsHead(exchange, next.done === true ? 204 : 200);
      while (next.done !== true && !headOnly && !isGone(response)) {
        if (!(response as AnswerWriter).write(write(next.value))) await writable(response);
        next = await source.next();
      }
    } catch (error) {
      if (isGone(response)) return;
      if (!response.headersSent) throw error;
      (response as AnswerWriter).write(eventText('error', errorText(domainErrorOf(error), call), null));
    } finally {
      source.return?.().catch(() => undefined);
    }
    response.end();
  }

  /**
   * Returns the shape of the body. A relayer that the key may not use counts as unknown, so that the way its body is read reveals nothing.
   */
  function shapeFor(relayerId: string | undefined, { principal }: Call): NetworkType | undefined {
    if (relayerId === undefined || (principal !== null && !mayUseRelayer(principal, relayerId))) return undefined;
    return deps.networkTypeOf(relayerId);
  }

  return { match, handle, fail: writeError };
}

function bodyRefused(): DomainError {
  return invalidFields([{ field: 'the body', description: 'must be empty; the revision is in the header If-Match' }], 'FIELD_UNKNOWN');
}

function composeEndpoints({ compiled, served, interceptors }: RestGatewayDeps) {
  const implementations = new Map(served.map(({ service, implementation }) => [service.typeName, implementation]));
  const endpoints = new Map<MethodPlan, Endpoint>();
  const streams = new Map<MethodPlan, Stream>();
  for (const [plan, form] of compiled.forms) {
    const { method } = plan;
    const implementation = implementations.get(method.parent.typeName) ?? {};
    if (!isUnary(method)) streams.set(plan, { ...form, open: composeStream(method, implementation, interceptors) });
    if (plan.http === null || !isUnary(method)) continue;
    endpoints.set(plan, {
      method,
      successStatus: plan.http.successStatus,
      hasBody: plan.http.hasBody,
      refusesBody: !plan.http.hasBody && method.input.fields.map(fieldRulesOf).some(({ ifMatch, required }) => ifMatch && required),
      isMergePatch: plan.http.mergePatch,
      isJsonRpc: plan.http.bare,
      passesOn: plan.http.passesOn,
      ...form,
      dispatch: composeDispatch(method, implementation, interceptors),
    });
  }
  return { endpoints, streams };
}

/** A REST request and its response. */
interface RestExchange {
  readonly request: ApiRequest;
  readonly response: ApiResponse;
  readonly call: Call;
  /** Without the question mark; empty if there is none. */
  readonly query: string;
  /** True for HEAD: the answer to GET without its body. */
  readonly headOnly: boolean;
  /** Headers that the answer carries in addition to its content's headers. */
  readonly headers: readonly Header[];
  /** Takes one more rate-limit token. Throws `rate_limited` RATE_LIMITED if there is none. */
  takeToken(): void;
  /** Writes the audit line of a call that is refused before it begins. */
  noteRefusal(failure: DomainError): void;
}

/** Both HTTP versions take a flat list of headers, but only one declares it in its types. */
interface HeadWriter {
  writeHead(status: number, headers: readonly string[] | OutgoingHttpHeaders): unknown;
}

/** Writes the head of server-sent events. Proxies must not wait for more of them. */
function writeEventsHead({ response, headers }: RestExchange, status: number): void {
  const type = status === 200 ? ['content-type', 'text/event-stream; charset=utf-8'] : [];
  const flat = [...type, 'x-accel-buffering', 'no'];
  for (const [name, value] of headers) flat.push(name, value);
  (response as HeadWriter).writeHead(status, flat);
}

function writeJson(exchange: RestExchange, status: number, body: string, headers: readonly Header[]): void {
  writeAnswer(exchange, { status, body, headers: [['content-type', 'application/json'], ...headers] });
}

/** Writes an answer with one `writeHead` and one `end`, so that head and body leave in one packet. */
function writeAnswer(exchange: RestExchange, { status, body, headers }: WholeAnswer): void {
  const { response } = exchange;
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const flat: string[] = [];
  for (const [name, value] of headers) flat.push(name, value);
  flat.push('content-length', String(Buffer.byteLength(body)));
  for (const [name, value] of exchange.headers) flat.push(name, value);
  (response as HeadWriter).writeHead(status, flat);
  if (exchange.headOnly) response.end();
  else response.end(body);
}

/** Answers with the error envelope. */
function writeError(exchange: RestExchange, error: DomainError): void {
  exchange.call.failure = error;
  const { status, headers, body } = errorAnswer(error, exchange.call);
  if (error.kind === 'unauthenticated' && !exchange.headers.some(([name]) => name === 'www-authenticate'))
    headers.push(['www-authenticate', 'Bearer']);
  writeJson(exchange, status, body, headers);
}

/** Returns the answer with the envelope of an error. The headers lack its content type. */
export function errorAnswer(error: DomainError, call: Pick<Call, 'warnings' | 'traceId'>) {
  const headers: Header[] = [];
  const delayMs = retryAfterMsOf(error);
  if (delayMs !== null) headers.push(['retry-after', retryAfterText(delayMs)]);
  headers.push(['x-error-reason', error.reason]);
  if (error.reason === 'METHOD_NOT_ALLOWED' && error.metadata.allow !== undefined) headers.push(['allow', error.metadata.allow]);
  return { status: errorTable[error.kind].httpStatus, headers, body: errorText(error, call) };
}

/** The envelope of an error: a sentence for people, a fixed text for programs, and the metadata if there is any. */
function errorText(error: DomainError, call: Pick<Call, 'warnings' | 'traceId'>): string {
  return failureText({ error: error.message, message: error.fixedText ?? errorTable[error.kind].text, data: 'null' }, call);
}

function failureText(
  { error, message, data }: Parameters<Envelopes['failure']>[0],
  { warnings, traceId }: Pick<Call, 'warnings' | 'traceId'>,
): string {
  const logs = warnings.map(({ level, message: warning }) => ({ level, message: warning }));
  const traces = traceId === null ? [] : [traceId];
  const metadataText = logs.length + traces.length === 0 ? '' : `,"metadata":${JSON.stringify({ logs, traces })}`;
  return `{"success":false,"data":${data},"error":${JSON.stringify(error)},"message":${JSON.stringify(message)}${metadataText}}`;
}
