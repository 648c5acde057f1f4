import type { CreatePluginRequest } from '../../gen/relayer/v1/plugin_service_pb.js';
import type { NewPlugin } from '../core/plugin/plugins.js';

/** Returns the plugin that a request, or an entry of the configuration file, asks for. */
export function newPluginFromProto(request: CreatePluginRequest): NewPlugin {
  const { id, url, headers, timeoutSeconds, allowGet, rawResponse, forwardLogs } = request;
  return {
    id,
    url,
    headers: headers.map(({ name, value }) => ({ name, value })),
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    ...(allowGet === undefined ? {} : { allowGet }),
    ...(rawResponse === undefined ? {} : { rawResponse }),
    ...(forwardLogs === undefined ? {} : { forwardLogs }),
  };
}
