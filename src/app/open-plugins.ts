import { createPluginCalls } from '../core/plugin/call-plugin.js';
import type { Plugins } from '../core/plugin/plugins.js';
import { createProcessClient } from '../plugins/ask-process.js';
import type { AppContext } from './app-context.js';
import { pluginUrlPolicyOf } from './config-in-force.js';
import { guardedConnectorFor } from './open-chains.js';

const connectMs = 5_000;

/** Opens the way to the processes of plugins, which ends after all callers have been answered. Returns what the API needs for plugins. */
export function openPlugins({ settings, config, onStop }: Pick<AppContext, 'settings' | 'config' | 'onStop'>, plugins: Plugins) {
  const pluginUrls = pluginUrlPolicyOf(settings, config);
  const client = createProcessClient(guardedConnectorFor(pluginUrls, connectMs));
  onStop('nodes', client.close);
  const filePlugins: ReadonlySet<string> = new Set(config.plugins.map(({ id }) => id));
  return { plugins, filePlugins, pluginUrls, pluginCalls: createPluginCalls({ plugins, ask: client.ask }) };
}
