import { invalidField } from '../errors/errors.js';
import { addressRangesFrom } from './address-ranges.js';
import { bytesFromBase58 } from './base58.js';
import { controls, httpUrlFrom, httpUrlPattern, nodeUrlPattern } from './http-url.js';

/** The syntax of a text field. The codec, the checks of RPC, the OpenAPI document and the domain use the same one. */
export interface TextSyntax {
  /** Matches the whole text. Written so that the engines of other languages read it the same way. */
  readonly pattern: RegExp;
  /** The pattern of the OpenAPI document, if a later check with sentences of its own rejects more than `pattern`. */
  readonly shownPattern?: RegExp;
  /** A check that the pattern cannot express. */
  readonly accepts?: (text: string) => boolean;
  /** In characters; unset: not limited beyond the pattern. */
  readonly maxLength?: number;
  /** Completes a sentence that begins with the field. */
  readonly description: string;
}

/** True for base58 of exactly 32 bytes, which names accounts and programs of Solana. */
const isSolanaAddress = (text: string) => bytesFromBase58(text, 32) !== null;

/** The types of operations on Stellar as rules name them: the protocol's names, and one for each function of the host of contracts. */
const stellarOperations = [
  'create_account',
  'payment',
  'path_payment_strict_receive',
  'path_payment_strict_send',
  'manage_sell_offer',
  'manage_buy_offer',
  'create_passive_sell_offer',
  'set_options',
  'change_trust',
  'allow_trust',
  'set_trust_line_flags',
  'account_merge',
  'inflation',
  'manage_data',
  'bump_sequence',
  'create_claimable_balance',
  'claim_claimable_balance',
  'begin_sponsoring_future_reserves',
  'end_sponsoring_future_reserves',
  'revoke_sponsorship',
  'clawback',
  'clawback_claimable_balance',
  'liquidity_pool_deposit',
  'liquidity_pool_withdraw',
  'extend_footprint_ttl',
  'restore_footprint',
  'invoke_contract',
  'create_contract',
  'upload_wasm',
];

/**
 * The syntaxes by the names that `(relayer.rest.v1.field).syntax` uses. A syntax says what a text looks like; checksums, decoded sizes and
 * whether the named thing exists are checked later.
 */
export const syntaxes = {
  entry_id: { pattern: /^[A-Za-z0-9_-]{1,36}$/u, description: 'must be 1 to 36 characters from A-Z, a-z, 0-9, _ and -' },
  name: {
    pattern: new RegExp(`^[^${controls}]{1,100}$`, 'u'),
    accepts: (text) => !/\p{Surrogate}/u.test(text),
    description: 'must be 1 to 100 characters without control characters',
  },
  http_url: {
    pattern: httpUrlPattern,
    accepts: (text) => httpUrlFrom(text) !== null,
    maxLength: 2048,
    description: 'must be a URL that begins with http:// or https://',
  },
  node_url: {
    pattern: nodeUrlPattern,
    accepts: URL.canParse,
    maxLength: 2048,
    description: 'must be a URL that begins with http://, https://, ws:// or wss://',
  },
  header_name: { pattern: /^[A-Za-z0-9_.-]{1,64}$/u, description: 'must be 1 to 64 characters from A-Z, a-z, 0-9, -, _ and .' },
  header_value: {
    // Without white space at the ends, which HTTP drops.
    pattern: /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/u,
    description: 'must be 1 to 4096 printable ASCII characters, without a space at the beginning or the end',
  },
  webhook_url: {
    pattern: /^[Hh][Tt][Tt][Pp][Ss]?:\/\/./u,
    // A host without user name and password, and no white space.
    shownPattern: new RegExp(String.raw`^[Hh][Tt][Tt][Pp][Ss]?://[^\s${controls}/?#@\\]+(?:[/?#\\][^\s${controls}]*)?$`, 'u'),
    maxLength: 2048,
    description: 'must begin with http:// or https://',
  },
  address_range: {
    pattern: /^[0-9A-Fa-f.:]{2,45}(?:\/[0-9]{1,3})?$/u,
    accepts: (text) => addressRangesFrom([text]) !== null,
    description: 'must be an IP address, or one with the length of a prefix, such as 10.0.0.0/8',
  },
  json_rpc_version: { pattern: /^2\.0$/u, description: 'must be 2.0' },
  external_id: { pattern: /^[\x21-\x7e]{1,128}$/u, description: 'must be 1 to 128 visible ASCII characters' },
  label_key: { pattern: /^[A-Za-z0-9_.-]{1,63}$/u, description: 'must be 1 to 63 characters from A-Z, a-z, 0-9, _, . and -' },
  label_value: { pattern: /^[\x20-\x7e]{1,128}$/u, description: 'must be 1 to 128 printable ASCII characters' },
  label: { pattern: /^[A-Za-z0-9_.-]{1,63}:[\x20-\x7e]{1,128}$/u, description: 'must be a key and a value: key:value' },
  transaction_hash: {
    pattern: /^(?:(?:0x)?[0-9a-fA-F]{64}|[1-9A-HJ-NP-Za-km-z]{64,88})$/u,
    description: 'must be 64 hex digits, with or without 0x, or a signature in base58',
  },
  receiver: {
    pattern: /^(?:0x[0-9a-fA-F]{40}|[GMC][A-Z2-7]{55,68}|[1-9A-HJ-NP-Za-km-z]{32,44})$/u,
    description: 'must be an address: 0x and 40 hex digits, a Stellar address or contract, or a Solana account',
  },
  decimal_integer: { pattern: /^-?[0-9]{1,78}$/u, description: 'must be an integer in decimal digits' },
  evm_address: { pattern: /^0x[0-9a-fA-F]{40}$/u, description: 'must be 0x and 40 hex digits' },
  hex_data: { pattern: /^(?:0x)?(?:[0-9a-fA-F]{2})*$/u, description: 'must be an even number of hex digits' },
  block_number: { pattern: /^(?:latest|[0-9]{1,18})$/u, description: 'must be latest or a number in decimal digits' },
  struct_name: { pattern: /^[A-Za-z_$][A-Za-z0-9_$]{0,255}$/u, description: 'must be the name of a struct' },
  hash: { pattern: /^(?:0x)?[0-9a-fA-F]{64}$/u, description: 'must be 32 bytes: 64 hex digits, with or without 0x' },
  stellar_account: { pattern: /^G[A-Z2-7]{55}$/u, description: 'must be the address of an account (G...)' },
  stellar_receiver: {
    pattern: /^(?:G[A-Z2-7]{55}|M[A-Z2-7]{68})$/u,
    description: 'must be the address of an account (G... or M...)',
  },
  stellar_contract: { pattern: /^C[A-Z2-7]{55}$/u, description: 'must be the address of a contract (C...)' },
  stellar_address: {
    pattern: /^(?:[CG][A-Z2-7]{55}|M[A-Z2-7]{68})$/u,
    description: 'must be the address of an account (G..., M...) or of a contract (C...)',
  },
  stellar_operation: {
    pattern: new RegExp(`^(?:${stellarOperations.join('|')})$`, 'u'),
    description: `must be a type of operation: ${stellarOperations.join(', ')}`,
  },
  stellar_rule_asset: {
    pattern: /^(?:native|[A-Za-z0-9]{1,12}:G[A-Z2-7]{55}|C[A-Z2-7]{55})$/u,
    description: 'must be native, CODE:ISSUER, or the contract of a token (C...)',
  },
  solana_rule_asset: {
    pattern: /^(?:native|[1-9A-HJ-NP-Za-km-z]{32,44})$/u,
    accepts: (text) => text === 'native' || isSolanaAddress(text),
    description: 'must be native, or the mint of a token: 32 bytes in base58',
  },
  discriminator: {
    pattern: /^(?:0x)?(?:[0-9a-fA-F]{2}){1,32}$/u,
    description: 'must be the first 1 to 32 bytes of the data: an even number of hex digits',
  },
  rule_asset: {
    pattern: /^(?:native|cost|fee|0x[0-9a-fA-F]{40}|[A-Za-z0-9]{1,12}:G[A-Z2-7]{55}|C[A-Z2-7]{55}|[1-9A-HJ-NP-Za-km-z]{32,44})$/u,
    description: 'must be native, cost, fee, 0x and 40 hex digits, CODE:ISSUER, the contract of a token (C...), or the mint of a token',
  },
  asset_code_4: { pattern: /^[A-Za-z0-9]{1,4}$/u, description: 'must be 1 to 4 characters from A-Z, a-z and 0-9' },
  asset_code_12: { pattern: /^[A-Za-z0-9]{5,12}$/u, description: 'must be 5 to 12 characters from A-Z, a-z and 0-9' },
  asset_code: { pattern: /^[A-Za-z0-9]{1,12}$/u, description: 'must be 1 to 12 characters from A-Z, a-z and 0-9' },
  claimable_balance: {
    pattern: /^(?:0{8}[0-9a-fA-F]{64}|B[A-Z2-7]{57})$/u,
    description: 'must be 72 hex digits that begin with 00000000, or B...',
  },
  stellar_price: {
    pattern: /^[0-9]{1,10}(?:\.[0-9]{1,10})?$/u,
    description: 'must be a decimal number with at most 10 digits before and after the point',
  },
  signed_payload: { pattern: /^P[A-Z2-7]{68,164}$/u, description: 'must be a signed payload (P...)' },
  home_domain: { pattern: /^[\x20-\x7e]{0,32}$/u, description: 'must be 0 to 32 printable ASCII characters' },
  data_name: { pattern: /^[\x20-\x7e]{1,64}$/u, description: 'must be 1 to 64 printable ASCII characters' },
  contract_function: { pattern: /^[A-Za-z0-9_]{1,32}$/u, description: 'must be 1 to 32 characters from a-z, A-Z, 0-9 and _' },
  contract_symbol: { pattern: /^[A-Za-z0-9_]{0,32}$/u, description: 'must be at most 32 characters from a-z, A-Z, 0-9 and _' },
  xdr: { pattern: /^[A-Za-z0-9+/]*={0,2}$/u, description: 'must be base64 XDR' },
  solana_address: { pattern: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/u, accepts: isSolanaAddress, description: 'must be 32 bytes in base58' },
  // An empty text counts as absent for the optional fields of signers; required ones are checked later.
  cloud_region: { pattern: /^[a-z0-9-]{0,63}$/u, description: 'must be 1 to 63 characters from a-z, 0-9 and -, such as eu-central-1' },
  aws_key_id: {
    pattern: /^[A-Za-z0-9:/_-]{1,512}$/u,
    description: 'must be the id or ARN of a key, or the name or ARN of an alias',
  },
  google_project: {
    pattern: /^[a-z0-9][a-z0-9.:-]{0,99}$/u,
    description: 'must be the id of a project: 1 to 100 characters from a-z, 0-9, -, . and :',
  },
  google_key_name: { pattern: /^[A-Za-z0-9_-]{1,63}$/u, description: 'must be 1 to 63 characters from A-Z, a-z, 0-9, _ and -' },
  domain: { pattern: /^(?:[a-z0-9-]+(?:\.[a-z0-9-]+)+)?$/u, description: 'must be a domain' },
  azure_tenant: { pattern: /^[A-Za-z0-9.-]{0,253}$/u, description: 'must be the id or a domain of a tenant' },
  azure_client_id: { pattern: /^[A-Za-z0-9-]{0,64}$/u, description: 'must be the id of an application or a managed identity' },
  azure_key_name: { pattern: /^[A-Za-z0-9-]{1,127}$/u, description: 'must be 1 to 127 characters from A-Z, a-z, 0-9 and -' },
  azure_key_version: { pattern: /^[A-Za-z0-9]{0,64}$/u, description: 'must be 1 to 64 characters from A-Z, a-z and 0-9' },
  cdp_api_key_id: { pattern: /^[A-Za-z0-9/_-]{1,200}$/u, description: 'must be the id of an API key' },
  cdp_account: {
    pattern: /^(?:0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/u,
    accepts: (text) => text.startsWith('0x') || isSolanaAddress(text),
    description: 'must be 0x and 40 hex digits, or 32 bytes in base58',
  },
  // Sent as a header.
  vault_namespace: { pattern: /^[!-~]{0,255}$/u, description: 'must be 1 to 255 visible ASCII characters' },
  vault_path: {
    pattern: new RegExp(`^[^${controls}]{0,512}$`, 'u'),
    accepts: (text) => !/^[/]+$/.test(text) && !/\p{Surrogate}/u.test(text),
    description: 'must be a path of 1 to 512 characters without control characters',
  },
  ed25519_base64: { pattern: /^[A-Za-z0-9+/]{43}=?$/u, description: 'must be base64 of 32 bytes' },
  private_key_hex: { pattern: /^(?:0x)?[0-9a-fA-F]{64}$/u, description: 'must be 32 bytes: 64 hex digits, with or without 0x' },
  p256_public_key: {
    pattern: /^(?:0x)?(?:0[23][0-9a-fA-F]{64}|04[0-9a-fA-F]{128})$/u,
    description: 'must be the hex digits of a P-256 key, 33 or 65 bytes',
  },
  public_key_hex: {
    pattern: /^(?:0x)?(?:[0-9a-fA-F]{64}|0[23][0-9a-fA-F]{64}|04[0-9a-fA-F]{128})$/u,
    description: 'must be the hex digits of a secp256k1 key (33 or 65 bytes) or an ed25519 key (32 bytes)',
  },
  solana_transaction: { pattern: /^[A-Za-z0-9+/]*={0,2}$/u, description: 'must be base64' },
} satisfies Record<string, TextSyntax>;

/** The same syntaxes, for names that the definitions give. */
export const textSyntaxes: ReadonlyMap<string, TextSyntax> = new Map(Object.entries<TextSyntax>(syntaxes));

/** Returns what is wrong with a text; undefined if nothing is. */
export function textProblem({ pattern, accepts, maxLength, description }: TextSyntax, text: string): string | undefined {
  if (maxLength !== undefined && text.length > maxLength) return `must be at most ${maxLength} characters`;
  return pattern.test(text) && accepts?.(text) !== false ? undefined : description;
}

/** Checks a text. Throws `FIELD_INVALID` for `field`. */
export function checkText(field: string, text: string, syntax: TextSyntax): void {
  const problem = textProblem(syntax, text);
  if (problem !== undefined) throw invalidField(field, problem);
}
