import { nameProblems } from '../entry-id.js';
import { type FieldProblem, throwProblems } from '../errors.js';
import type { NodeUrlPolicy } from '../network/node-url-policy.js';
import { nodeUrlProblems } from '../network/node-urls.js';
import type { Relayer, RelayerPolicies } from './relayer.js';

/** Maximum length of a list in policies. */
const maxItems = 10_000;

/** Parts of a relayer that rules apply to; a part that is absent is not checked. */
type Parts = Partial<Pick<Relayer, 'name' | 'customRpcUrls' | 'policies'>>;

/**
 * Checks parts of a relayer by the rules that the API and the configuration file share. Throws `FIELD_INVALID` with all problems.
 */
export function checkRelayerParts({ name, customRpcUrls, policies }: Parts, nodeUrls?: Pick<NodeUrlPolicy, 'problemOf'>): void {
  throwProblems([
    ...(name === undefined ? [] : nameProblems(name)),
    ...(customRpcUrls === undefined ? [] : nodeUrlProblems('custom_rpc_urls', customRpcUrls, nodeUrls)),
    ...(policies === undefined ? [] : policyProblems(policies)),
  ]);
}

/** Returns what is wrong with policies; the ranges of their fields are the contract's. */
export function policyProblems(policies: RelayerPolicies): readonly FieldProblem[] {
  if (policies.network === 'evm') {
    return [
      ...capProblems('gas_price_cap', policies.gasPriceCapWei),
      ...listProblems('whitelist_receivers', policies.whitelistReceivers, isEvmAddress, 'must be an address: 0x and 40 hex digits'),
    ];
  }
  if (policies.network === 'stellar') return capProblems('max_fee', policies.maxFeeStroops);
  const accounts = (field: string, list: readonly string[] | null) =>
    listProblems(field, list, isSolanaAddress, 'must be an address: 32 bytes in base58');
  const { allowedPrograms, allowedAccounts, disallowedAccounts } = policies;
  const hasBothLists = allowedAccounts !== null && disallowedAccounts.length > 0;
  return [
    ...capProblems('max_allowed_fee_lamports', policies.maxAllowedFeeLamports),
    ...accounts('allowed_programs', allowedPrograms),
    ...accounts('allowed_accounts', allowedAccounts),
    ...(disallowedAccounts.length === 0 ? [] : accounts('disallowed_accounts', disallowedAccounts)),
    ...(hasBothLists ? [{ field: 'policies.disallowed_accounts', description: 'cannot be combined with allowed_accounts' }] : []),
  ];
}

/** A cap of 0 would stop the relayer permanently. */
function capProblems(field: string, cap: bigint | null): readonly FieldProblem[] {
  return cap === 0n ? [{ field: `policies.${field}`, description: 'must be at least 1; leave it out for no cap' }] : [];
}

/** Problems of a list that limits; null: it limits nothing. An empty one can only be a mistake, and must never come to mean "all". */
function listProblems(
  name: string,
  list: readonly string[] | null,
  isValid: (item: string) => boolean,
  description: string,
): readonly FieldProblem[] {
  const field = `policies.${name}`;
  if (list === null) return [];
  if (list.length === 0) return [{ field, description: 'must not be empty; leave it out to allow all' }];
  if (list.length > maxItems) return [{ field, description: `must have at most ${maxItems} items` }];
  return list.flatMap((item, index) => (isValid(item) ? [] : [{ field: `${field}[${index}]`, description }]));
}

function isEvmAddress(text: string): boolean {
  return /^0x[0-9a-fA-F]{40}$/.test(text);
}

/** The values of base58 digits by their character codes. */
const base58Values = new Uint8Array(128);
for (const [value, digit] of [...'123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'].entries())
  base58Values[digit.charCodeAt(0)] = value;

/** True for base58 of exactly 32 bytes, which names accounts and programs. */
function isSolanaAddress(text: string): boolean {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)) return false;
  let zeros = 0;
  while (text[zeros] === '1') zeros += 1;
  // Each leading 1 is a byte of zero; the other bytes are the number's.
  return zeros + byteLengthOfBase58(text) === 32;
}

/** Four base58 digits times 24 bits stay exact in a double. Bigints would block the event loop for a list of thousands of addresses. */
const digitsAtOnce = 4;
const limb = 2 ** 24;

/** The number of bytes of the number that base58 digits denote. */
function byteLengthOfBase58(text: string): number {
  const limbs: number[] = [];
  for (let at = 0; at < text.length; at += digitsAtOnce) {
    let carry = 0;
    let scale = 1;
    for (let digit = at; digit < at + digitsAtOnce && digit < text.length; digit += 1) {
      carry = carry * 58 + (base58Values[text.charCodeAt(digit)] ?? 0);
      scale *= 58;
    }
    for (let index = 0; index < limbs.length || carry > 0; index += 1) {
      const value = (limbs[index] ?? 0) * scale + carry;
      limbs[index] = value % limb;
      carry = Math.floor(value / limb);
    }
  }
  const top = limbs.at(-1) ?? 0;
  return Math.ceil((24 * Math.max(0, limbs.length - 1) + (32 - Math.clz32(top))) / 8);
}
