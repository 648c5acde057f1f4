import type { MessageInitShape } from '@bufbuild/protobuf';
import type { LimitUsageSchema } from '../../../../gen/relayer/v1/rules_pb.js';
import { protoOfAsset } from '../../../codec/rule-values.js';
import type { LimitUsage } from '../../../core/rules/spend-usage.js';
import { present } from './present.js';

/** What a limit has left. */
export function protoOfUsage({ ruleId, limit, apiKeyId, used, reserved, left }: LimitUsage): MessageInitShape<typeof LimitUsageSchema> {
  const amounts = { amount: String(limit.amount), used: String(used), reserved: String(reserved), left: String(left) };
  return { ruleId, asset: protoOfAsset(limit.asset), windowSeconds: limit.windowMs / 1_000, ...present('apiKeyId', apiKeyId), ...amounts };
}
