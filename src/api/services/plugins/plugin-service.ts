import { create } from '@bufbuild/protobuf';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import {
  type CallPluginRequest,
  type Plugin as PluginMessage,
  PluginSchema,
  PluginService,
  type UpdatePluginRequest,
  UpdatePluginRequestSchema,
} from '../../../../gen/relayer/v1/plugin_service_pb.js';
import { newPluginFromProto } from '../../../codec/plugin-values.js';
import { maskedPaths } from '../../../codec/update-mask.js';
import { invalidField } from '../../../core/errors/errors.js';
import { maskedValue, shownRpcUrl } from '../../../core/network/node-urls.js';
import type { PluginCalls } from '../../../core/plugin/call-plugin.js';
import { createPlugin, deletePlugin, getPlugin, type PluginChange, type PluginDeps, updatePlugin } from '../../../core/plugin/plugins.js';
import { type Plugin, pluginDefaults } from '../../../core/records/plugin.js';
import { maskedUrl } from '../../../core/text/masked-url.js';
import { callOf, principalOf } from '../../contract/call.js';
import { replayable } from '../../contract/stored-response.js';
import { type Listing, listAnswer, pageOf, sliceOf } from '../shared/list-page.js';
import { present } from '../shared/present.js';

/** The dependencies of the service. */
export interface PluginServiceDeps extends PluginDeps {
  readonly pluginCalls: PluginCalls;
}

/** Implements `relayer.v1.PluginService`. */
export function createPluginService(deps: PluginServiceDeps): ServiceImpl<typeof PluginService> {
  return {
    createPlugin: replayable(PluginService.method.createPlugin, async (request, context, saveResponse) => {
      const plugin = await createPlugin(deps, newPluginFromProto(request), (made) => saveResponse(() => ({ plugin: protoOfPlugin(made) })));
      callOf(context).auditFacts.to = shownPlace(plugin);
      return { plugin: protoOfPlugin(plugin) };
    }),
    async updatePlugin(request, context) {
      const change = pluginChangeFromProto(request);
      const before = deps.plugins.find(request.pluginId);
      const plugin = await updatePlugin(deps, request.pluginId, change);
      Object.assign(callOf(context).auditFacts, { from: before === undefined ? '' : shownPlace(before), to: shownPlace(plugin) });
      return { plugin: protoOfPlugin(plugin) };
    },
    getPlugin({ pluginId }) {
      return { plugin: protoOfPlugin(getPlugin(deps.plugins, pluginId)) };
    },
    listPlugins(request, context) {
      const page = pageOf(request, callOf(context));
      const found = sliceOf(deps.plugins.all().toReversed(), page, ({ id }) => id);
      const { records: plugins, ...rest } = listAnswer(page, found, listing, callOf(context));
      return { plugins, ...rest };
    },
    async deletePlugin({ pluginId }) {
      await deletePlugin(deps, pluginId);
      return {};
    },
    callPlugin: (request, context) => callPlugin(deps, request, context),
  };
}

async function callPlugin({ pluginCalls }: PluginServiceDeps, request: CallPluginRequest, context: HandlerContext) {
  const { pluginId, route, httpMethod, query, headers, body } = request;
  const call = callOf(context);
  const method = httpMethod || 'POST';
  if (method !== 'GET' && method !== 'POST') throw invalidField('http_method', 'must be GET or POST');
  call.auditFacts.httpMethod = method;
  const answer = await pluginCalls.call({
    pluginId,
    route,
    method,
    query,
    headers,
    body,
    authorization: context.requestHeader.get('authorization'),
    apiKeyId: principalOf(context).keyId,
    requestId: call.requestId,
    traceParent: call.traceParent,
    signal: context.signal,
  });
  const { status, data, error, logs, rawBody } = answer;
  call.auditFacts.pluginStatus = String(status);
  call.warnings.push(...logs);
  return {
    status,
    headers: answer.headers.map(({ name, value }) => ({ name, value })),
    ...present('data', data),
    ...present('error', error),
    ...present('rawBody', rawBody),
  };
}

const fields = {
  url: 'url',
  timeout_seconds: 'timeoutSeconds',
  headers: 'headers',
  allow_get: 'allowGet',
  raw_response: 'rawResponse',
  forward_logs: 'forwardLogs',
} as const;

/**
 * Returns the changes of a request: the paths of its mask, or without a mask the fields that are set. A path whose field is not set puts
 * back the default. Throws `FIELD_INVALID`.
 */
export function pluginChangeFromProto(request: UpdatePluginRequest): PluginChange {
  const paths = maskedPaths(UpdatePluginRequestSchema, request.updateMask, Object.keys(fields));
  const names = Object.entries(fields).flatMap(([path, name]) => {
    const isSet = name === 'headers' ? request.headers.length > 0 : request[name] !== undefined;
    return (paths === undefined ? isSet : paths.includes(path)) ? [name] : [];
  });
  return Object.fromEntries(names.map((name) => [name, fieldOf(request, name)]));
}

function fieldOf(request: UpdatePluginRequest, name: (typeof fields)[keyof typeof fields]): PluginChange[keyof PluginChange] {
  if (name === 'headers') return request.headers.map(({ name: header, value }) => ({ name: header, value }));
  if (name !== 'url') return request[name] ?? pluginDefaults[name];
  if (request.url === undefined) throw invalidField('url', 'cannot be removed');
  return request.url;
}

/** Returns the place of a plugin as audit lines may show it. */
function shownPlace({ url, headers }: Plugin): string {
  return shownRpcUrl({ url, weight: 1, headers });
}

const listing: Listing<Plugin, PluginMessage> = { desc: PluginSchema, record: protoOfPlugin, idOf: ({ id }) => id };

function protoOfPlugin({ url, headers, ...plugin }: Plugin): PluginMessage {
  return create(PluginSchema, { ...plugin, url: maskedUrl(url), headers: headers.map(({ name }) => ({ name, value: maskedValue })) });
}
