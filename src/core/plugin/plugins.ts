import type { DefinitionWriter } from '../definitions/definition-writer.js';
import { DomainError, invalidField, throwProblems, withFieldNames } from '../errors/errors.js';
import { readAll } from '../errors/read-all.js';
import type { NodeUrlPolicy } from '../network/node-url-policy.js';
import { checkNodeUrls, sealedUrls, unmaskedUrls, urlsOf } from '../network/node-urls.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { SaveResponse } from '../ports/store/stored-responses.js';
import type { Definition } from '../records/definition.js';
import type { Ids } from '../records/ids.js';
import type { RpcUrl } from '../records/network.js';
import { type Plugin, pluginDefaults } from '../records/plugin.js';
import { entryIdFromText, taken } from '../text/entry-id.js';
import { shownName } from '../text/safe-text.js';
import { syntaxes, textProblem } from '../text/text-syntax.js';
import type { Exclusively } from '../work/one-at-a-time.js';

/** The plugins of the configuration file and of the API. */
export interface Plugins {
  find(id: string): Plugin | undefined;
  /** The configuration file's, then the API's, each oldest first. */
  all(): readonly Plugin[];
}

/** The dependencies of changing plugins. */
export interface PluginDeps {
  readonly plugins: Plugins;
  readonly ids: Ids;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  /** Ids of the configuration file's plugins: the store must remember that one of them was deleted. */
  readonly filePlugins: ReadonlySet<string>;
  /** The rules for the URLs that the API sets. */
  readonly pluginUrls: Pick<NodeUrlPolicy, 'problemOf'>;
  readonly exclusively: Exclusively;
  readonly writer: Pick<DefinitionWriter, 'commit'>;
}

/** The content of a plugin's definition; its URL and headers are sealed beside it. */
type Content = Omit<Plugin, 'id' | 'url' | 'headers'>;

/** Returns the definition that stores a plugin. */
function definitionFromPlugin(secretBox: Pick<SecretBox, 'seal'>, { id, url, headers, ...content }: Plugin): Definition {
  const key = { kind: 'plugin', id } as const;
  return { ...key, content: content satisfies Content, sealed: sealedUrls(secretBox, key, [placeOf({ url, headers })]) };
}

/** Reads a plugin from a definition that has content. Throws if its URL was sealed under another key. */
export function pluginFrom(secretBox: Pick<SecretBox, 'open'>, definition: Definition): Plugin {
  const [place] = urlsOf(secretBox, definition);
  if (place === undefined) throw new Error(`the stored plugin ${definition.id} has no URL`);
  return { ...pluginDefaults, ...(definition.content as Content), id: definition.id, url: place.url, headers: place.headers ?? [] };
}

/** The URL and the headers of a plugin, in the form in which URLs of nodes are checked, masked and sealed. */
function placeOf({ url, headers }: Pick<Plugin, 'url' | 'headers'>): RpcUrl {
  return { url, weight: 1, headers };
}

/** Checks a URL and its headers. The sentences contain neither of them. Throws `FIELD_INVALID`. */
function checkPluginPlace(place: Pick<Plugin, 'url' | 'headers'>, policy?: PluginDeps['pluginUrls']): void {
  const problem = textProblem(syntaxes.http_url, place.url);
  if (problem !== undefined) throw invalidField('url', problem);
  if (place.url.includes('#')) throw invalidField('url', 'must not have a fragment');
  try {
    checkNodeUrls('place', [placeOf(place)], { policy });
  } catch (error) {
    throw error instanceof DomainError ? withFieldNames(error, (field) => field.replace(/^place\[0\]\./, '')) : error;
  }
}

/** A plugin as requested. */
export interface NewPlugin extends Partial<Omit<Plugin, 'id' | 'url'>> {
  /** Absent: a UUID. */
  readonly id: string | undefined;
  readonly url: string;
}

/** Checks a plugin to create. Throws `FIELD_INVALID` with everything that is wrong. */
export function checkNewPlugin({ id, url, headers = [] }: NewPlugin, policy?: PluginDeps['pluginUrls']): void {
  readAll({ id: () => id === undefined || entryIdFromText(id), place: () => checkPluginPlace({ url, headers }, policy) });
}

/** Returns a plugin with defaults for what is absent. */
export function completePlugin({ id, ...given }: NewPlugin & { readonly id: string }): Plugin {
  const { headers, timeoutSeconds, allowGet, rawResponse, forwardLogs } = pluginDefaults;
  return {
    id,
    url: given.url,
    headers: given.headers ?? headers,
    timeoutSeconds: given.timeoutSeconds ?? timeoutSeconds,
    allowGet: given.allowGet ?? allowGet,
    rawResponse: given.rawResponse ?? rawResponse,
    forwardLogs: given.forwardLogs ?? forwardLogs,
  };
}

/** Creates a plugin. Throws `FIELD_INVALID`, `ID_EXISTS`. */
export function createPlugin(deps: PluginDeps, wanted: NewPlugin, saveResponse: SaveResponse<Plugin> = () => []): Promise<Plugin> {
  const { plugins, ids, secretBox, pluginUrls, exclusively, writer } = deps;
  return exclusively(async () => {
    checkNewPlugin(wanted, pluginUrls);
    const plugin = completePlugin({ ...wanted, id: wanted.id ?? ids.random() });
    if (plugins.find(plugin.id) !== undefined) throw taken(`Plugin with ID ${plugin.id} already exists`, plugin.id);
    await writer.commit([definitionFromPlugin(secretBox, plugin)], saveResponse(plugin));
    return plugin;
  });
}

/** Returns the plugin with this id. Throws `PLUGIN_NOT_FOUND`. */
export function getPlugin(plugins: Pick<Plugins, 'find'>, id: string): Plugin {
  const plugin = plugins.find(id);
  if (plugin !== undefined) return plugin;
  throw new DomainError('not_found', 'PLUGIN_NOT_FOUND', `Plugin with ID ${shownName(id)} not found`, {
    metadata: { plugin_id: shownName(id) },
  });
}

/** Fields of a plugin to change. */
export type PluginChange = Partial<Omit<Plugin, 'id'>>;

/**
 * Returns a plugin with a change. A masked URL, and masked values of headers, stay as they are stored; with another URL they are refused,
 * so that no secret goes to a place that it was not meant for. Throws `FIELD_INVALID`.
 */
export function changedPlugin(before: Plugin, change: PluginChange, policy?: PluginDeps['pluginUrls']): Plugin {
  const next = { ...before, ...change };
  const [{ url, headers = [] } = next] = unmaskedUrls([placeOf(next)], [placeOf(before)]);
  checkPluginPlace({ url, headers }, url === before.url ? undefined : policy);
  const kept = change.url !== undefined && change.headers === undefined && url !== before.url && headers.length > 0;
  if (kept) throwProblems([{ field: 'headers', description: 'must be sent with another url: they are secrets of the present one' }]);
  return { ...next, url, headers };
}

/** Changes a plugin. Throws `PLUGIN_NOT_FOUND`, `FIELD_INVALID`. */
export function updatePlugin({ plugins, secretBox, pluginUrls, exclusively, writer }: PluginDeps, id: string, change: PluginChange) {
  return exclusively(async () => {
    const plugin = changedPlugin(getPlugin(plugins, id), change, pluginUrls);
    if (Object.keys(change).length > 0) await writer.commit([definitionFromPlugin(secretBox, plugin)], []);
    return plugin;
  });
}

/** Deletes a plugin. Throws `PLUGIN_NOT_FOUND`. */
export function deletePlugin({ plugins, filePlugins, exclusively, writer }: PluginDeps, id: string): Promise<void> {
  return exclusively(async () => {
    getPlugin(plugins, id);
    const key = { kind: 'plugin', id } as const;
    await writer.commit([filePlugins.has(id) ? { ...key, content: null, sealed: null } : key], []);
  });
}
