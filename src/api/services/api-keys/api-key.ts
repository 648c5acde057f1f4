import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type ApiKey, ApiKeySchema, ApiKeyScope } from '../../../../gen/relayer/v1/api_key_service_pb.js';
import type { ApiKey as DomainApiKey } from '../../../core/access/api-key.js';
import type { Scope } from '../../../core/access/principal.js';
import { invalidField } from '../../../core/errors.js';

const scopes: ReadonlyMap<ApiKeyScope, Scope> = new Map([
  [ApiKeyScope.TRANSACTIONS_READ, 'transactions:read'],
  [ApiKeyScope.TRANSACTIONS_WRITE, 'transactions:write'],
  [ApiKeyScope.SIGN, 'sign'],
  [ApiKeyScope.NOTIFICATIONS, 'notifications'],
  [ApiKeyScope.ADMIN, 'admin'],
]);
const protoScopes: ReadonlyMap<Scope, ApiKeyScope> = new Map([...scopes].map(([proto, scope]) => [scope, proto]));

/** The scopes that a request names. Throws `FIELD_INVALID`: over RPC an enum may hold numbers that no one has named. */
export function scopesFromProto(wanted: readonly ApiKeyScope[]): readonly Scope[] {
  return wanted.map((proto, index) => {
    const scope = scopes.get(proto);
    if (scope === undefined) throw invalidField(`scopes[${index}]`, `must be one of ${[...scopes.values()].join(', ')}`);
    return scope;
  });
}

/** What is told of a key; `text` only to whoever creates it. */
export function protoOfApiKey({ id, name, scopes, relayerIds, createdAtMs, expiresAtMs }: DomainApiKey, text?: string): ApiKey {
  return create(ApiKeySchema, {
    id,
    name,
    scopes: scopes.map((scope) => protoScopes.get(scope) ?? ApiKeyScope.UNSPECIFIED),
    relayerIds: [...relayerIds],
    createdAt: timestampFromMs(createdAtMs),
    ...(expiresAtMs === null ? {} : { expiresAt: timestampFromMs(expiresAtMs) }),
    ...(text === undefined ? {} : { key: text }),
  });
}
