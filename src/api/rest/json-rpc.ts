import type { DomainError, ErrorKind } from '../../core/errors/errors.js';
import { createParallelLimit } from '../../core/work/parallel-limit.js';
import { type JsonObject, type JsonValue, jsonTextOf } from '../../json/json-value.js';
import { domainErrorOf } from '../contract/errors.js';

/** The maximum number of calls in a batch. */
const maxBatch = 50;
/** Calls of a batch that run at the same time: a fraction of what a network runs for all callers. */
const parallelCalls = 4;
/** The maximum length of an id that an error repeats. */
const maxIdLength = 256;

/** Codes of JSON-RPC and, for the last, of Ethereum's nodes. */
const codes = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  unavailable: -32000,
  limitExceeded: -32005,
} as const;

/** The JSON-RPC code of one call of a batch, for errors that are HTTP errors of a single call. */
const codesOfKinds: Readonly<Partial<Record<ErrorKind, number>>> = {
  unimplemented: codes.methodNotFound,
  unavailable: codes.unavailable,
  rate_limited: codes.limitExceeded,
};

/**
 * Answers a JSON-RPC call or a batch of calls. `callOne` serves one call and returns its answer as JSON text; `takeToken` takes the
 * rate-limit token of each call of a batch after the first. A refused call is answered with a JSON-RPC error, as by a node. Rejects with
 * errors of the whole request: of the relayer and the key and, for a single call, of unreachable RPC nodes and methods that are not
 * supported.
 */
export async function answerJsonRpc(
  body: JsonValue,
  callOne: (call: JsonObject) => Promise<string>,
  takeToken: () => void,
): Promise<string> {
  if (!Array.isArray(body)) return answerCall(body, callOne);
  if (body.length === 0 || body.length > maxBatch) {
    return errorText(null, codes.invalidRequest, `a batch must have 1 to ${maxBatch} calls; this one has ${body.length}`);
  }
  const { run: inTurn } = createParallelLimit(parallelCalls);
  const texts = await Promise.all(
    body.map((call, index) => inTurn(() => answerCallOfBatch(call, callOne, index === 0 ? () => undefined : takeToken))),
  );
  return `[${texts.join(',')}]`;
}

async function answerCall(call: JsonValue, callOne: (call: JsonObject) => Promise<string>): Promise<string> {
  if (!(call instanceof Map)) return errorText(null, codes.invalidRequest, 'a call must be a JSON object');
  try {
    return await callOne(call);
  } catch (error) {
    const failure = domainErrorOf(error);
    if (failure.kind !== 'invalid') throw error;
    return errorText(call, codeOf(failure), failure.message);
  }
}

async function answerCallOfBatch(call: JsonValue, callOne: (call: JsonObject) => Promise<string>, takeToken: () => void): Promise<string> {
  try {
    takeToken();
    return await answerCall(call, callOne);
  } catch (error) {
    const { kind, message } = domainErrorOf(error);
    const code = codesOfKinds[kind];
    if (code === undefined) throw error;
    return errorText(call, code, message);
  }
}

function codeOf({ fields: [problem] }: DomainError): number {
  if (problem?.field === 'method') return codes.methodNotFound;
  return problem?.field === 'params' ? codes.invalidParams : codes.invalidRequest;
}

function errorText(call: JsonValue, code: number, message: string): string {
  const id = call instanceof Map ? (call.get('id') ?? null) : null;
  const idText = typeof id === 'string' || typeof id === 'number' ? jsonTextOf(id) : 'null';
  const error = { code, message, description: message };
  return `{"jsonrpc":"2.0","id":${idText.length > maxIdLength ? 'null' : idText},"error":${JSON.stringify(error)}}`;
}
