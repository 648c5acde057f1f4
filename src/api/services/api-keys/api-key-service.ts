import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  type ApiKey,
  ApiKeySchema,
  ApiKeyScope,
  ApiKeyService,
  type CreateApiKeyRequest,
} from '../../../../gen/relayer/v1/api_key_service_pb.js';
import { timeMsOf } from '../../../codec/scalar-codecs.js';
import {
  type ApiKeyAndText,
  type ApiKeyDeps,
  createApiKey,
  deleteApiKey,
  deleteApiKeyWithCreated,
  listApiKeys,
  type NewApiKey,
  rotateApiKey,
} from '../../../core/access/api-keys.js';
import { isBootstrap } from '../../../core/access/authenticate.js';
import { invalidField } from '../../../core/errors/errors.js';
import type { ApiKey as DomainApiKey } from '../../../core/records/api-key.js';
import type { Scope } from '../../../core/records/principal.js';
import { shownName } from '../../../core/text/safe-text.js';
import { callOf, principalOf } from '../../contract/call.js';
import { replayable } from '../../contract/stored-response.js';
import { type Listing, listAnswer, pageOf, sliceOf } from '../shared/list-page.js';
import { present, presentTime } from '../shared/present.js';

export type ApiKeyServiceDeps = ApiKeyDeps & {
  /** The version of the service. */
  readonly serviceVersion: string;
};

/** Implements `relayer.v1.ApiKeyService`. */
export function createApiKeyService(deps: ApiKeyServiceDeps): ServiceImpl<typeof ApiKeyService> {
  return {
    createApiKey: replayable(ApiKeyService.method.createApiKey, async (request, context, saveResponse) => {
      const wanted = newApiKeyFromProto(request);
      const { relayerIds, expiresAtMs, allowedAddresses } = wanted;
      Object.assign(callOf(context).auditFacts, {
        name: shownName(wanted.name),
        scopes: wanted.scopes.join(' '),
        relayers: relayerIds.length === 0 ? 'all' : relayerIds.map(shownName).join(' '),
        expires_at: expiresAtMs === null ? 'never' : new Date(expiresAtMs).toISOString(),
        addresses: allowedAddresses.length === 0 ? 'all' : allowedAddresses.map(shownName).join(' '),
      });
      const created = await createApiKey(deps, wanted, principalOf(context), (one) => saveResponse(() => answerOf(one)));
      return answerOf(created);
    }),
    async listApiKeys(request, context) {
      const page = pageOf(request, callOf(context));
      const found = sliceOf(await listApiKeys(deps), page, ({ id }) => id);
      const { records: apiKeys, ...rest } = listAnswer(page, found, listing, callOf(context));
      return { apiKeys, ...rest };
    },
    getCaller(_request, context) {
      const principal = principalOf(context);
      const { keyId, name, relayers, expiresAtMs } = principal;
      return {
        caller: {
          ...(isBootstrap(principal) ? {} : { apiKeyId: keyId, name }),
          scopes: [...principal.scopes].map(protoOfScope),
          relayerIds: [...(relayers ?? [])],
          ...presentTime('expiresAt', expiresAtMs),
          serviceVersion: deps.serviceVersion,
        },
      };
    },
    rotateApiKey: replayable(ApiKeyService.method.rotateApiKey, async (request, context, saveResponse) => {
      const { apiKeyId: id, overlapSeconds } = request;
      const save = (one: ApiKeyAndText) => saveResponse(() => answerOf(one));
      const rotated = await rotateApiKey(deps, { id, overlapSeconds }, principalOf(context), save);
      const [former] = rotated.apiKey.formerSecrets;
      callOf(context).auditFacts.former_valid_until = former === undefined ? 'now' : new Date(former.validUntilMs).toISOString();
      return answerOf(rotated);
    }),
    async deleteApiKey({ apiKeyId, withCreated }, context) {
      if (!withCreated) {
        await deleteApiKey(deps, apiKeyId);
        return {};
      }
      const apiKeyIds = await deleteApiKeyWithCreated(deps, apiKeyId);
      callOf(context).auditFacts.revoked = apiKeyIds.join(' ');
      return { revoked: { apiKeyIds: [...apiKeyIds] } };
    },
  };
}

/** Returns the key that a request asks for. Throws `FIELD_INVALID`. */
export function newApiKeyFromProto({ name, scopes, relayerIds, expiresAt, allowedAddresses }: CreateApiKeyRequest): NewApiKey {
  const expiresAtMs = expiresAt === undefined ? null : timeMsOf(expiresAt);
  return { name, scopes: scopesFromProto(scopes), relayerIds, expiresAtMs, allowedAddresses };
}

function answerOf({ apiKey, text }: ApiKeyAndText) {
  return { apiKey: protoOfApiKey(apiKey), key: text };
}

const scopes: ReadonlyMap<ApiKeyScope, Scope> = new Map([
  [ApiKeyScope.TRANSACTIONS_READ, 'transactions:read'],
  [ApiKeyScope.TRANSACTIONS_WRITE, 'transactions:write'],
  [ApiKeyScope.TRANSACTIONS_APPROVE, 'transactions:approve'],
  [ApiKeyScope.SIGN, 'sign'],
  [ApiKeyScope.NOTIFICATIONS, 'notifications'],
  [ApiKeyScope.PLUGINS_CALL, 'plugins:call'],
  [ApiKeyScope.AUDIT_READ, 'audit:read'],
  [ApiKeyScope.ADMIN, 'admin'],
]);
const protoScopes: ReadonlyMap<Scope, ApiKeyScope> = new Map([...scopes].map(([proto, scope]) => [scope, proto]));

function protoOfScope(scope: Scope): ApiKeyScope {
  return protoScopes.get(scope) ?? ApiKeyScope.UNSPECIFIED;
}

/** Throws `FIELD_INVALID` for an unknown number, which an enum over RPC may hold. */
function scopesFromProto(wanted: readonly ApiKeyScope[]): readonly Scope[] {
  return wanted.map((proto, index) => {
    const scope = scopes.get(proto);
    if (scope === undefined) throw invalidField(`scopes[${index}]`, `must be one of ${[...scopes.values()].join(', ')}`);
    return scope;
  });
}

const listing: Listing<DomainApiKey, ApiKey> = { desc: ApiKeySchema, record: protoOfApiKey, idOf: ({ id }) => id };

/** Without the key itself, which only its creation returns. */
function protoOfApiKey(key: DomainApiKey): ApiKey {
  const { id, name, scopes, relayerIds, createdAtMs, expiresAtMs, createdBy, allowedAddresses, lastUsedAtMs, formerSecrets } = key;
  return create(ApiKeySchema, {
    id,
    name,
    scopes: scopes.map(protoOfScope),
    relayerIds: [...relayerIds],
    createdAt: timestampFromMs(createdAtMs),
    ...presentTime('expiresAt', expiresAtMs),
    ...present('createdBy', createdBy),
    allowedAddresses: [...allowedAddresses],
    ...presentTime('lastUsedAt', lastUsedAtMs),
    ...presentTime('formerSecretsExpireAt', lastEndOf(formerSecrets)),
  });
}

function lastEndOf(formerSecrets: DomainApiKey['formerSecrets']): number | null {
  return formerSecrets.length === 0 ? null : Math.max(...formerSecrets.map(({ validUntilMs }) => validUntilMs));
}
