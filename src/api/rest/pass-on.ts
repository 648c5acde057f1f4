import { create, type Message } from '@bufbuild/protobuf';
import { type CallPluginRequest, CallPluginRequestSchema, type CallPluginResponse } from '../../../gen/relayer/v1/plugin_service_pb.js';
import { isPassedOn } from '../../core/plugin/call-plugin.js';
import { bodyTooLarge } from '../contract/shared-errors.js';
import type { ApiRequest, Header } from '../http/header.js';
import { readBytes } from '../http/read-bytes.js';

/** A request to pass on. */
interface PassedOn {
  readonly request: ApiRequest;
  /** Without the question mark. */
  readonly query: string;
}

/** An answer with its whole body. */
export interface WholeAnswer {
  readonly status: number;
  /** With its content type, without its length. */
  readonly headers: readonly Header[];
  readonly body: string | Uint8Array;
}

/** Reads a request that is passed on as it is; null if the caller left. Rejects with `too_large` BODY_TOO_LARGE. */
export async function passedOnFrom(
  { request, query }: PassedOn,
  params: Readonly<Record<string, string>>,
  maxBytes: number,
): Promise<CallPluginRequest | null> {
  const body = await readBytes(request, { limit: maxBytes, tooLarge: () => bodyTooLarge(maxBytes) });
  if (body === null) return null;
  const headers = Object.entries(request.headers).flatMap(([name, value]) =>
    value === undefined || value === '' || !isPassedOn(name) ? [] : [{ name, value: [value].flat().join(', ') }],
  );
  const { plugin_id: pluginId = '', route = '' } = params;
  return create(CallPluginRequestSchema, { pluginId, route, httpMethod: request.method === 'POST' ? 'POST' : 'GET', query, headers, body });
}

/** The texts of the envelope around an answer. */
export interface Envelopes {
  success(message: Message): string;
  /** `data`: JSON text. */
  failure(parts: { readonly error: string; readonly message: string; readonly data: string }): string;
}

/** The fixed text of an error that a plugin answers. Its sentence, `code` and `details` are the plugin's own. */
const pluginError = 'Plugin error';

/** Returns the answer to a request that was passed on: the body as it is, or in the envelope. */
export function answerOfPassedOn(message: Message, envelopes: Envelopes): WholeAnswer {
  const { status, data = 'null', error, headers, rawBody } = message as CallPluginResponse;
  const own = headers.map(({ name, value }): Header => [name, value]);
  if (rawBody !== undefined) return { status, headers: own, body: rawBody };
  const json: readonly Header[] = [['content-type', 'application/json'], ...own];
  if (error !== undefined) return { status, headers: json, body: envelopes.failure({ error, message: pluginError, data }) };
  // Callers know one status of a success.
  return { status: 200, headers: json, body: envelopes.success(message) };
}
