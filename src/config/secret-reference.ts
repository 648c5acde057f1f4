import type { JsonObject, JsonValue } from '../json/json-value.js';
import { type Environment, shownVariable } from './environment.js';
import type { Problems } from './problem.js';
import { readSecretFile } from './secret-file.js';

const forms = ['env', 'file', 'plain'] as const;
const form =
  '{"type": "env", "value": "<name of an environment variable>"}, {"type": "file", "value": "<path>"} or {"type": "plain", "value": "<the secret>"}';

/** Takes the place of a URL that cannot be resolved, so that its list keeps its order and has no second problem. */
const unresolved = 'http://unresolved.invalid';
/** The same for the value of a header. */
const unresolvedValue = 'unresolved';

/** Returns the text that a reference stands for; undefined, with a problem added, if it has none. */
export function resolveSecret(value: JsonValue, path: string, env: Environment, problems: Problems): string | undefined {
  if (!(value instanceof Map)) return refuse(path, `must be ${form}`);
  for (const key of value.keys()) if (key !== 'type' && key !== 'value') problems.add(`${path}.${key}`, 'is not a known field');
  const type = value.get('type');
  const text = value.get('value');
  if (!forms.some((one) => one === type)) return refuse(`${path}.type`, 'must be "env", "file" or "plain"');
  if (typeof text !== 'string' || text === '') return refuse(`${path}.value`, 'must be a non-empty string');
  if (type === 'plain') return text;
  if (type === 'file') {
    const read = readSecretFile(text);
    // Without the path, since it might be a secret that was given instead of one.
    return 'text' in read ? read.text : refuse(`${path}.value`, `names a file that ${read.problem}`);
  }
  const found = env[text];
  if (found !== undefined && found !== '') return found;
  return refuse(`${path}.value`, `names the environment variable${shownVariable(text)}, which is not set`);

  function refuse(at: string, problem: string): undefined {
    problems.add(at, problem);
    return undefined;
  }
}

/** Returns the file that a reference names; undefined if it names none. */
export function fileOfReference(value: JsonValue): string | undefined {
  const file = value instanceof Map && value.get('type') === 'file' ? value.get('value') : undefined;
  return typeof file === 'string' ? file : undefined;
}

/**
 * Returns a list of URLs as the API takes it: each a text, or `{url, weight, headers}` with texts. In the file a URL and the value of a
 * header may also be references, and a URL have white space around it. What is not a list is left to the codec.
 */
export function resolveUrls(list: JsonValue, path: string, env: Environment, problems: Problems): JsonValue {
  if (!Array.isArray(list)) return list;
  return list.map((item, index) => {
    const at = `${path}[${index}]`;
    return item instanceof Map && item.has('url') ? resolvePlace(item, at, env, problems) : resolveUrl(item, at, env, problems);
  });
}

/** Does the same for one `{url, headers}`; its other members stay. */
export function resolvePlace(item: JsonObject, at: string, env: Environment, problems: Problems): JsonObject {
  const resolved = new Map(item).set('url', resolveUrl(item.get('url') ?? null, `${at}.url`, env, problems));
  const headers = item.get('headers');
  return Array.isArray(headers) ? resolved.set('headers', resolveHeaders(headers, `${at}.headers`, env, problems)) : resolved;
}

function resolveHeaders(list: readonly JsonValue[], path: string, env: Environment, problems: Problems): JsonValue {
  return list.map((header, index) => {
    const value = header instanceof Map ? (header.get('value') ?? null) : null;
    if (!(header instanceof Map && isReference(value))) return header;
    return new Map(header).set('value', resolveSecret(value, `${path}[${index}].value`, env, problems)?.trim() ?? unresolvedValue);
  });
}

function resolveUrl(value: JsonValue, path: string, env: Environment, problems: Problems): string {
  if (typeof value === 'string') return value.trim();
  if (isReference(value)) return resolveSecret(value, path, env, problems)?.trim() ?? unresolved;
  problems.add(path, 'must be a URL, or {"type": "env", "value": "<name of the environment variable that holds it>"}');
  return unresolved;
}

function isReference(value: JsonValue): value is JsonObject {
  return value instanceof Map && forms.some((one) => one === value.get('type'));
}
