import { sealedUrls, urlsOf } from '../network/node-urls.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Definition } from '../records/definition.js';
import type { NetworkType, RpcUrl } from '../records/network.js';
import { defaultPolicies, type Relayer, type RelayerPolicies } from '../records/relayer.js';
import type { EvmRule, PartRule, RuleApprovals } from '../records/spending-rule.js';

const noApprovals: RuleApprovals = { approvals: null, approvalMs: null };
const ofParts = { ...noApprovals, maxCost: null } satisfies Partial<PartRule>;
/** The fields that rules of earlier versions lack. */
const newerFields = {
  evm: { ...noApprovals, maxCostWei: null, typedData: null, deadlineField: null } satisfies Partial<EvmRule>,
  stellar: ofParts,
  solana: ofParts,
} satisfies Readonly<Record<NetworkType, object>>;

/** The content of a relayer's definition; its RPC URLs are sealed beside it. */
interface Content {
  readonly name: string;
  readonly networkType: NetworkType;
  readonly network: string;
  readonly paused: boolean;
  readonly policies: RelayerPolicies;
  readonly policiesVersion: number;
  readonly signerId: string;
  readonly notificationId: string | null;
}

/** The version of policies that the API has never changed. */
export const firstPoliciesVersion = 1;

/** A relayer as it is requested and stored: its network by name, without its address and state. */
export interface StoredRelayer extends Content {
  readonly id: string;
  readonly customRpcUrls: readonly RpcUrl[];
}

/** Returns the definition that stores a relayer. */
export function definitionFromRelayer(
  secretBox: Pick<SecretBox, 'seal'>,
  relayer: Omit<Relayer, 'address' | 'disabledReason' | 'policiesLocked'>,
): Definition {
  const { id, name, networkType, network, paused, policies, policiesVersion, signerId, notificationId, customRpcUrls } = relayer;
  const content: Content = { name, networkType, network: network.name, paused, policies, policiesVersion, signerId, notificationId };
  const key = { kind: 'relayer', id } as const;
  return { ...key, content, sealed: sealedUrls(secretBox, key, customRpcUrls) };
}

/** Reads a relayer from a definition that has content. Throws if its RPC URLs were sealed under another key. */
export function storedRelayerFrom(secretBox: Pick<SecretBox, 'open'>, definition: Definition): StoredRelayer {
  const content = definition.content as Content;
  // A policy that is newer than the definition has its default, and so has a field of a rule.
  const rules = content.policies.rules?.map((rule) => ({ ...newerFields[content.networkType], ...rule })) ?? null;
  const policies = { ...defaultPolicies[content.networkType], ...content.policies, rules } as RelayerPolicies;
  const { policiesVersion = firstPoliciesVersion } = content as Partial<Content>;
  return { ...content, policies, policiesVersion, id: definition.id, customRpcUrls: urlsOf(secretBox, definition) };
}
