import { createHash } from 'node:crypto';
import { textIn } from '../../config/file-entries.js';
import { apiKeyFrom } from '../../core/access/api-keys.js';
import { DomainError } from '../../core/errors/errors.js';
import type { ApiKey } from '../../core/records/api-key.js';
import { everyScope, type Scope } from '../../core/records/principal.js';
import { shownName } from '../../core/text/safe-text.js';
import type { JsonValue } from '../../json/json-value.js';
import { cannotMove, isHere, moves, type ReadableRecord, type Verdict } from './verdict.js';

/** A new key in place of one of OpenZeppelin Relayer, and its text, which is nowhere else. */
export interface NewKey {
  readonly apiKey: ApiKey;
  readonly text: string;
}

const callerScopes: readonly Scope[] = ['transactions:read', 'transactions:write', 'sign'];
/**
 * OpenZeppelin Relayer never enforces permissions, so they say what the operator meant. `admin` reaches all keys, keys that send should not
 * approve, and the audit log has no counterpart there, so none of these scopes is ever given by import.
 */
const scopesOf: Readonly<Record<string, readonly Scope[]>> = {
  '*': [...callerScopes, 'notifications', 'plugins:call'],
  'relayer:all:execute': callerScopes,
};

/** An API key moves as a new key: OpenZeppelin Relayer's text has another form. Its id follows from the old one, so that it moves once. */
export function judgeApiKey({ key, content }: ReadableRecord, present: ReadonlySet<string>, nowMs: number): Verdict<NewKey> {
  const id = newIdOf(key);
  if (present.has(id)) return isHere(`as the key ${id}`);
  const name = textIn(content, 'name') ?? '';
  const permissions = content.get('permissions') ?? null;
  // OpenZeppelin Relayer stores its API_KEY under this name when its storage is empty.
  if (name === 'default' && isList(permissions, '*')) return isHere('it is API_KEY of OpenZeppelin Relayer; set API_KEY here');
  const scopes = scopesFrom(permissions);
  if (scopes === undefined)
    return cannotMove(
      `the permissions of ${JSON.stringify(shownName(name))} have no counterpart; create a key with relayer api-key create --scope ${callerScopes.join(' ')}`,
    );
  try {
    const created = apiKeyFrom({ name, scopes, relayerIds: [], expiresAtMs: null, allowedAddresses: [] }, id, nowMs);
    return moves(created, `as a new key named ${JSON.stringify(name)} with the scopes ${scopes.join(', ')}`);
  } catch (error) {
    if (error instanceof DomainError) return cannotMove(error.message);
    throw error;
  }
}

function isList(value: JsonValue, only: string): boolean {
  return Array.isArray(value) && value.length === 1 && value[0] === only;
}

function scopesFrom(permissions: JsonValue): readonly Scope[] | undefined {
  if (!Array.isArray(permissions) || permissions.length === 0) return undefined;
  const lists = permissions.map((permission) =>
    typeof permission === 'string' && Object.hasOwn(scopesOf, permission) ? scopesOf[permission] : undefined,
  );
  return lists.includes(undefined) ? undefined : everyScope.filter((scope) => lists.some((list) => list?.includes(scope)));
}

/** A UUID of version 8 from the record's key. */
function newIdOf(recordKey: string): string {
  const bytes = createHash('sha256').update(recordKey).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
