import type { JsonObject, JsonValue } from '../json/json-value.js';
import { type Environment, shownVariable } from './environment.js';
import type { Problems } from './problem.js';

const form = '{"type": "env", "value": "<name of an environment variable>"} or {"type": "plain", "value": "<the secret>"}';

/** Takes the place of a URL that cannot be resolved, so that its list keeps its order and has no second problem. */
const unresolved = 'http://unresolved.invalid';

/** Returns the text that a reference stands for; undefined, with a problem added, if it has none. */
export function resolveSecret(value: JsonValue, path: string, env: Environment, problems: Problems): string | undefined {
  if (!(value instanceof Map)) return refuse(path, `must be ${form}`);
  for (const key of value.keys()) if (key !== 'type' && key !== 'value') problems.add(`${path}.${key}`, 'is not a known field');
  const type = value.get('type');
  const text = value.get('value');
  if (type !== 'env' && type !== 'plain') return refuse(`${path}.type`, 'must be "env" or "plain"');
  if (typeof text !== 'string' || text === '') return refuse(`${path}.value`, 'must be a non-empty string');
  if (type === 'plain') return text;
  const found = env[text];
  if (found !== undefined && found !== '') return found;
  return refuse(`${path}.value`, `names the environment variable${shownVariable(text)}, which is not set`);

  function refuse(at: string, problem: string): undefined {
    problems.add(at, problem);
    return undefined;
  }
}

/**
 * Returns a list of URLs as the API takes it: each a text, or `{url, weight}` with a text. In the file a URL may also be a reference, and have
 * white space around it. What is not a list is left to the codec.
 */
export function resolveUrls(list: JsonValue, path: string, env: Environment, problems: Problems): JsonValue {
  if (!Array.isArray(list)) return list;
  return list.map((item, index) => {
    const at = `${path}[${index}]`;
    if (!(item instanceof Map && item.has('url'))) return resolveUrl(item, at, env, problems);
    return new Map(item).set('url', resolveUrl(item.get('url') ?? null, `${at}.url`, env, problems));
  });
}

function resolveUrl(value: JsonValue, path: string, env: Environment, problems: Problems): string {
  if (typeof value === 'string') return value.trim();
  if (isReference(value)) return resolveSecret(value, path, env, problems)?.trim() ?? unresolved;
  problems.add(path, 'must be a URL, or {"type": "env", "value": "<name of the environment variable that holds it>"}');
  return unresolved;
}

function isReference(value: JsonValue): value is JsonObject {
  return value instanceof Map && (value.get('type') === 'env' || value.get('type') === 'plain');
}
