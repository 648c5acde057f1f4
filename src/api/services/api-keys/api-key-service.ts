import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type { ApiKeyService } from '../../../../gen/relayer/v1/api_key_service_pb.js';
import { type CreateApiKeyDeps, createApiKey } from '../../../core/access/create-api-key.js';
import { type DeleteApiKeyDeps, deleteApiKey } from '../../../core/access/delete-api-key.js';
import { listApiKeys } from '../../../core/access/list-api-keys.js';
import { callOf, principalOf } from '../../contract/call.js';
import { pageOf, paginationOf } from '../list-page.js';
import { protoOfApiKey, scopesFromProto } from './api-key.js';

/** What the service works with. */
export type ApiKeyServiceDeps = CreateApiKeyDeps & DeleteApiKeyDeps;

/** `relayer.v1.ApiKeyService`. */
export function createApiKeyService(deps: ApiKeyServiceDeps): ServiceImpl<typeof ApiKeyService> {
  return {
    async createApiKey({ name, scopes, relayerIds, expiresAt }, context) {
      const expiresAtMs = expiresAt === undefined ? null : timestampMs(expiresAt);
      const wanted = { name, scopes: scopesFromProto(scopes), relayerIds, expiresAtMs };
      const { apiKey, text } = await createApiKey(deps, wanted, principalOf(context));
      return { apiKey: protoOfApiKey(apiKey, text) };
    },
    async listApiKeys(request, context) {
      const page = pageOf(request, callOf(context));
      const found = await listApiKeys(deps, page.query, principalOf(context));
      return { apiKeys: found.items.map((key) => protoOfApiKey(key)), pagination: paginationOf(page, found) };
    },
    async deleteApiKey({ apiKeyId }, context) {
      await deleteApiKey(deps, apiKeyId, principalOf(context));
      return {};
    },
  };
}
