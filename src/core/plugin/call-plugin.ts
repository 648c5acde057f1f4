import { DomainError, invalidField } from '../errors/errors.js';
import { type AskProcess, type PluginAnswer, ProcessFailure } from '../ports/plugin-process.js';
import type { RpcHeader } from '../records/network.js';
import type { Plugin } from '../records/plugin.js';
import { startDeadline, TimeoutError } from '../work/abort.js';
import { getPlugin, type Plugins } from './plugins.js';

/** Calls of one plugin that run at the same time: a plugin that hangs must not take the memory of others. */
const maxCalls = 100;
/** Bytes of requests and answers that all running calls hold together. */
const maxHeldBytes = 64 * 1024 * 1024;
/** The maximum length of the URL of a request, in characters. */
const maxUrlLength = 16_384;

/** A call as its caller made it. */
export interface PluginCall {
  readonly pluginId: string;
  /** Segments with `/` between them, not percent-encoded; empty: none. */
  readonly route: string;
  readonly method: 'GET' | 'POST';
  /** Percent-encoded, without the question mark. */
  readonly query: string;
  readonly headers: readonly RpcHeader[];
  readonly body: Uint8Array;
  /** The header by which the caller was authenticated; null: none. */
  readonly authorization: string | null;
  readonly apiKeyId: string;
  readonly requestId: string;
  readonly traceParent: string | null;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
}

/** Passes calls on to plugins. */
export interface PluginCalls {
  /**
   * Passes a call on. Throws `PLUGIN_NOT_FOUND`, `METHOD_NOT_ALLOWED` for GET if the plugin does not allow it, `FIELD_INVALID`,
   * `SERVICE_UNAVAILABLE` if too many calls run, `PLUGIN_FAILED` and `PLUGIN_TIMED_OUT`.
   */
  call(call: PluginCall): Promise<PluginAnswer>;
}

/** Creates it. */
export function createPluginCalls({ plugins, ask }: { readonly plugins: Pick<Plugins, 'find'>; readonly ask: AskProcess }): PluginCalls {
  const running = new Map<string, number>();
  let heldBytes = 0;

  /** Counts a call; returns the functions that take more bytes for it and end it. */
  function begin(id: string) {
    const calls = running.get(id) ?? 0;
    if (calls >= maxCalls) throw overloaded(`${maxCalls} calls of plugin ${id} run already`, maxCalls);
    running.set(id, calls + 1);
    let held = 0;
    return {
      takeBytes(bytes: number): void {
        if (heldBytes + bytes > maxHeldBytes) throw overloaded('the calls of plugins hold too many bytes', maxHeldBytes);
        held += bytes;
        heldBytes += bytes;
      },
      end(): void {
        heldBytes -= held;
        const left = (running.get(id) ?? 1) - 1;
        if (left === 0) running.delete(id);
        else running.set(id, left);
      },
    };
  }

  return {
    async call(call) {
      const plugin = getPlugin(plugins, call.pluginId);
      if (call.method === 'GET' && !plugin.allowGet) throw getNotAllowed(plugin.id);
      const request = { method: call.method, url: urlOf(plugin, call), headers: headersTo(plugin, call), body: call.body };
      const { takeBytes, end } = begin(plugin.id);
      const deadline = startDeadline(plugin.timeoutSeconds * 1_000, { outer: call.signal });
      try {
        takeBytes(call.body.length);
        return await ask(plugin, request, { signal: deadline.signal, takeBytes });
      } catch (error) {
        throw failureFrom(error, plugin, call.signal);
      } finally {
        deadline.clear();
        end();
      }
    },
  };
}

function failureFrom(error: unknown, { id, timeoutSeconds }: Plugin, { aborted }: AbortSignal): unknown {
  const metadata = { plugin_id: id };
  if (error instanceof ProcessFailure)
    return new DomainError('bad_gateway', 'PLUGIN_FAILED', `plugin ${id} ${error.message}`, { metadata });
  if (!(error instanceof TimeoutError) || aborted) return error;
  const sentence = `plugin ${id} did not answer within ${timeoutSeconds} s`;
  return new DomainError('deadline_exceeded', 'PLUGIN_TIMED_OUT', sentence, { metadata });
}

function overloaded(sentence: string, limit: number): DomainError {
  return new DomainError('unavailable', 'SERVICE_UNAVAILABLE', `${sentence}; retry later`, { metadata: { limit: String(limit) } });
}

function getNotAllowed(id: string): DomainError {
  return new DomainError('method_not_allowed', 'METHOD_NOT_ALLOWED', `plugin ${id} accepts only POST; set allow_get to allow GET`, {
    metadata: { allow: 'POST' },
  });
}

/** Returns the URL of a request. A route cannot leave the path of the plugin. */
function urlOf(plugin: Plugin, { route, query }: PluginCall): URL {
  const url = new URL(plugin.url);
  const segments = route === '' ? [] : route.split('/');
  const isPlain = (segment: string) => segment !== '' && segment !== '.' && segment !== '..' && !/[\\\p{Cc}\p{Surrogate}]/u.test(segment);
  if (!segments.every(isPlain)) throw invalidField('route', 'must be segments with / between them, none of which is empty, . or ..');
  if (/[^\x21-\x7e]|#/.test(query)) throw invalidField('query', 'must be percent-encoded');
  if (segments.length > 0) url.pathname = [url.pathname.replace(/\/$/, ''), ...segments.map(encodeURIComponent)].join('/');
  url.search = [url.search.slice(1), query].filter((part) => part !== '').join('&');
  if (url.href.length > maxUrlLength) throw invalidField('query', `must make a URL of at most ${maxUrlLength} characters with the route`);
  return url;
}

/** Headers of callers that plugins get, besides headers that begin with `x-`. */
const passedOn: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'content-type',
  'idempotency-key',
  'payment-signature',
  'user-agent',
]);
/** Headers that proxies or the service itself set, or by which a metadata service of a cloud knows a friendly caller. */
const keptBack = /^x-(?:forwarded-.*|real-ip|relayer-.*|request-id|aws-ec2-metadata.*|google-metadata.*)$/;

/** True for a header that plugins get, unless it holds the key of its caller. */
export function isPassedOn(name: string): boolean {
  const lower = name.toLowerCase();
  return passedOn.has(lower) || (lower.startsWith('x-') && !keptBack.test(lower));
}

/** Returns the headers of a request. The service replaces headers of the caller, and the plugin replaces both. */
function headersTo(plugin: Plugin, { headers, authorization, apiKeyId, requestId, traceParent }: PluginCall): readonly RpcHeader[] {
  // Some clients send their key in a further header, too.
  const key = authorization?.split(' ').at(-1) ?? '';
  const holdsKey = (value: string) => key !== '' && value.includes(key);
  const ofCaller = headers.filter(({ name, value }) => isPassedOn(name) && !holdsKey(value));
  const ofService: readonly RpcHeader[] = [
    { name: 'x-request-id', value: requestId },
    { name: 'x-relayer-plugin-id', value: plugin.id },
    { name: 'x-relayer-api-key-id', value: apiKeyId },
    ...(traceParent === null ? [] : [{ name: 'traceparent', value: traceParent }]),
  ];
  const byName = new Map([...ofCaller, ...ofService, ...plugin.headers].map((header) => [header.name.toLowerCase(), header]));
  return [...byName.values()];
}
