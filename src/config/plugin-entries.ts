import { CreatePluginRequestSchema } from '../../gen/relayer/v1/plugin_service_pb.js';
import { newPluginFromProto } from '../codec/plugin-values.js';
import { checkNewPlugin, completePlugin } from '../core/plugin/plugins.js';
import type { Plugin } from '../core/records/plugin.js';
import type { Environment } from './environment.js';
import { codecOf, declaredNames, type FileEntry, objectOf, readMessage, requireMembers } from './file-entries.js';
import type { Problems } from './problem.js';
import { resolvePlace } from './secret-reference.js';

const codec = codecOf(CreatePluginRequestSchema);
const needsProcess =
  'is not supported: plugins do not run in the service; run the code in a process of your own, and set url to its address';
/** Members of OpenZeppelin Relayer's plugins that have no effect if a process serves the plugin. */
const withoutEffect: ReadonlyMap<string, string> = new Map([
  ['config', 'the service has no such setting; give it to the process'],
  ['emit_logs', 'forward_logs returns the logs of the plugin'],
  ['emit_traces', 'traces of plugins are not returned'],
]);

/** Reads the plugins by the API's rules. An entry is a CreatePlugin request whose URL and values of headers may be references. */
export function pluginEntries(entries: readonly FileEntry[], env: Environment, problems: Problems): readonly Plugin[] {
  declaredNames(entries, 'id', problems);
  return entries.flatMap((entry) => pluginFromEntry(entry, env, problems) ?? []);
}

function pluginFromEntry(entry: FileEntry, env: Environment, problems: Problems): Plugin | undefined {
  const { path } = entry;
  const written = objectOf(entry, problems);
  if (written === undefined) return undefined;
  if (written.has('path')) problems.add(`${path}.path`, needsProcess);
  for (const [name, why] of withoutEffect)
    if ((written.get(name) ?? false) !== false) problems.notices.push(`${path}.${name} has no effect: ${why}`);
  const known = new Map([...written].filter(([name]) => name !== 'path' && !withoutEffect.has(name)));
  const object = known.has('url') ? resolvePlace(known, path, env, problems) : known;
  const plugin = newPluginFromProto(readMessage(codec, object, path, problems));
  requireMembers(object, written.has('path') ? ['id'] : ['id', 'url'], path, problems);
  if (!problems.has(path)) problems.check(path, () => checkNewPlugin(plugin));
  const { id } = plugin;
  return problems.has(path) || id === undefined ? undefined : completePlugin({ ...plugin, id });
}
