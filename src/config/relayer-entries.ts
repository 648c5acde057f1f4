import { z } from 'zod';
import type { EvmNetwork } from '../core/relayer/network.js';
import type { EvmPolicies, Relayer } from '../core/relayer/relayer.js';
import { amount, id, rpcUrls, someText } from './field-schemas.js';
import { declaredNames, type FileEntry, textField } from './file-entries.js';
import { likelyName } from './likely-name.js';
import type { NetworkEntries } from './network-entries.js';
import type { Problem } from './problem.js';
import { readBySchema } from './schema-problems.js';

/** A relayer of the file: all of it but what only its signer and its running can tell. */
export type RelayerEntry = Omit<Relayer, 'network' | 'address' | 'disabledReason'> & { readonly network: EvmNetwork };

/** What relayers may refer to. */
export interface References {
  readonly networks: NetworkEntries;
  readonly signerIds: ReadonlySet<string>;
  readonly notificationIds: ReadonlySet<string>;
}

const maxInFlightProblem = 'must be an integer from 1 to 100000';
const maxInFlight = z.number(maxInFlightProblem).int(maxInFlightProblem).min(1, maxInFlightProblem).max(100_000, maxInFlightProblem);

const policiesSchema = z.strictObject({
  min_balance: amount(0n).nullish(),
  gas_price_cap: amount(1n).nullish(),
  whitelist_receivers: z
    .array(z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be an address: 0x and 40 hex digits'))
    .min(1, 'must name at least one address; leave it out to allow all')
    .nullish(),
  eip1559_pricing: z.boolean().nullish(),
  gas_limit_estimation: z.boolean().nullish(),
  include_revert_data: z.boolean().nullish(),
  max_in_flight: maxInFlight.nullish(),
  private_transactions: z
    .boolean()
    .refine((wanted) => !wanted, 'private transactions are not supported; leave it out or set it to false')
    .nullish(),
});

const relayerSchema = z.strictObject({
  id,
  name: someText,
  network: someText,
  network_type: z.literal('evm'),
  paused: z.boolean(),
  policies: policiesSchema.nullish(),
  signer_id: someText,
  notification_id: someText.nullish(),
  custom_rpc_urls: rpcUrls.nullish(),
});

const notYet: Readonly<Record<string, string>> = {
  stellar: 'Stellar relayers are not supported yet',
  solana: 'Solana relayers are not supported yet',
};

/** Reads the relayers in the order of the file, and checks what they refer to. Problems go on the list. */
export function relayerEntries(entries: readonly FileEntry[], references: References, problems: Problem[]): readonly RelayerEntry[] {
  declaredNames(entries, 'id', problems);
  const byName = new Map(references.networks.networks.map((network) => [network.name, network]));
  const userOf = new Map<string, string>();
  return entries.flatMap((entry) => {
    const refusal = notYet[textField(entry, 'network_type') ?? ''];
    if (refusal !== undefined) {
      problems.push({ path: entry.path, problem: refusal });
      return [];
    }
    const fields = readBySchema(relayerSchema, entry.value, entry.path, problems);
    checkReferences(entry, references, problems);
    const network = fields === undefined ? undefined : byName.get(fields.network);
    if (fields === undefined || network === undefined) return [];
    checkSignerUse(fields.signer_id, network, entry.path, userOf, problems);
    return [
      {
        id: fields.id,
        name: fields.name,
        network,
        networkType: 'evm' as const,
        signerId: fields.signer_id,
        notificationId: fields.notification_id ?? null,
        customRpcUrls: fields.custom_rpc_urls ?? [],
        paused: fields.paused,
        policies: policiesFromFields(fields.policies ?? {}),
      },
    ];
  });
}

/** What is not said: at least 1 wei must remain, no cap, any receiver, EIP-1559 prices and estimated gas, no revert data. */
function policiesFromFields(fields: Partial<z.output<typeof policiesSchema>>): EvmPolicies {
  return {
    network: 'evm',
    minBalanceWei: fields.min_balance ?? 1n,
    gasPriceCapWei: fields.gas_price_cap ?? null,
    whitelistReceivers: fields.whitelist_receivers?.map((address) => address.toLowerCase()) ?? null,
    eip1559Pricing: fields.eip1559_pricing ?? true,
    gasLimitEstimation: fields.gas_limit_estimation ?? true,
    includeRevertData: fields.include_revert_data ?? false,
    maxInFlight: fields.max_in_flight ?? 16,
  };
}

function checkReferences(entry: FileEntry, { networks, signerIds, notificationIds }: References, problems: Problem[]): void {
  const network = textField(entry, 'network');
  const otherKind = network === undefined || networks.declared.has(network) ? undefined : networks.otherKinds.get(network);
  if (otherKind !== undefined) {
    problems.push({
      path: `${entry.path}.network`,
      problem: `${JSON.stringify(network)} is a ${otherKind} network, network_type is "evm"`,
    });
  } else {
    checkReference(entry, 'network', networks.declared, 'no network has the name', problems);
  }
  checkReference(entry, 'signer_id', signerIds, 'no signer has the id', problems);
  checkReference(entry, 'notification_id', notificationIds, 'no notification has the id', problems);
}

function checkReference(entry: FileEntry, field: string, known: ReadonlySet<string>, sentence: string, problems: Problem[]): void {
  const name = textField(entry, field);
  if (name === undefined || name === '' || known.has(name)) return;
  const likely = likelyName(name, [...known]);
  const hint = likely === undefined ? '' : `; did you mean ${JSON.stringify(likely)}?`;
  problems.push({ path: `${entry.path}.${field}`, problem: `${sentence} ${JSON.stringify(name)}${hint}` });
}

/** The cheap half of `accountProblems`: one signer twice on one chain is one account twice, whatever its address. */
function checkSignerUse(signerId: string, network: EvmNetwork, path: string, userOf: Map<string, string>, problems: Problem[]): void {
  const account = `${network.chainId} ${signerId}`;
  const other = userOf.get(account);
  if (other === undefined) userOf.set(account, path);
  else
    problems.push({
      path: `${path}.signer_id`,
      problem: `is already used on chain ${network.chainId} by ${other}; an account takes one relayer`,
    });
}
