import { z } from 'zod';
import type { EvmNetwork } from '../core/relayer/network.js';
import { httpUrl, rpcUrls, someText } from './field-schemas.js';
import { declaredNames, type FileEntry, textField } from './file-entries.js';
import type { Problem } from './problem.js';
import { readBySchema } from './schema-problems.js';

const chainIdProblem = 'must be an integer from 1 to 2^64-1';
const countProblem = 'must be an integer, at least 1';
const count = z.number(countProblem).int(countProblem).min(1, countProblem);

/** One network as written: what is absent may come from the network that it is made `from`. */
const networkSchema = z.strictObject({
  type: z.literal('evm'),
  network: someText,
  from: someText.nullish(),
  chain_id: z
    .union([z.number(), z.bigint()], chainIdProblem)
    .refine((value) => (typeof value === 'bigint' || Number.isSafeInteger(value)) && value >= 1 && value < 2n ** 64n, chainIdProblem)
    .transform(BigInt)
    .nullish(),
  rpc_urls: rpcUrls.min(1, 'must have at least one URL').nullish(),
  required_confirmations: count.nullish(),
  average_blocktime_ms: count.nullish(),
  symbol: someText.nullish(),
  is_testnet: z.boolean().nullish(),
  tags: z.array(z.string()).nullish(),
  features: z.array(z.string()).nullish(),
  explorer_urls: z.array(httpUrl).nullish(),
  gas_price_cache: z
    .looseObject({ enabled: z.boolean().nullish() })
    .refine((cache) => cache.enabled !== true, 'a gas price cache is not supported; leave it out')
    .nullish(),
});

type NetworkFields = z.output<typeof networkSchema>;

/** The EVM networks of the configuration, and what a relayer's reference to one is judged by. */
export interface NetworkEntries {
  readonly networks: readonly EvmNetwork[];
  /** Names of all EVM networks, valid or not. */
  readonly declared: ReadonlySet<string>;
  /** Names of networks of other kinds, with their kind. They are not used, and so not checked. */
  readonly otherKinds: ReadonlyMap<string, string>;
}

/** Reads the networks: each as written, then with what it inherits. Problems go on the list. */
export function networkEntries(entries: readonly FileEntry[], problems: Problem[]): NetworkEntries {
  const evm: FileEntry[] = [];
  const otherKinds = new Map<string, string>();
  for (const entry of entries) {
    const type = textField(entry, 'type');
    const name = textField(entry, 'network');
    if ((type === 'stellar' || type === 'solana') && name !== undefined) otherKinds.set(name, type);
    else evm.push(entry);
  }
  const declared = declaredNames(evm, 'network', problems);
  const written = new Map<string, { readonly path: string; readonly fields: NetworkFields | undefined }>();
  for (const entry of evm) {
    const fields = readBySchema(networkSchema, entry.value, entry.path, problems);
    const name = fields?.network ?? textField(entry, 'network');
    if (name !== undefined && !written.has(name)) written.set(name, { path: entry.path, fields });
  }

  /** The network with all that it inherits; undefined when that cannot be told. A problem is reported at the network that has it. */
  function inherited(name: string, path: string): NetworkFields | undefined {
    const line: NetworkFields[] = [];
    for (let next = name; ; ) {
      const own = written.get(next);
      if (own?.fields === undefined) return undefined;
      line.push(own.fields);
      const parent = own.fields.from;
      if (parent === undefined || parent === null) break;
      if (parent === name) problems.push({ path: `${path}.from`, problem: 'goes round in a circle' });
      else if (next === name && !written.has(parent)) {
        problems.push({ path: `${path}.from`, problem: `no EVM network has the name ${JSON.stringify(parent)}` });
      }
      if (line.some(({ network }) => network === parent)) return undefined;
      next = parent;
    }
    return line.reduceRight((parent, child) => merge(parent, child));
  }

  const networks: EvmNetwork[] = [];
  for (const [name, { path }] of written) {
    const fields = inherited(name, path);
    const network = fields === undefined ? undefined : networkFromFields(fields, path, problems);
    if (network !== undefined) networks.push(network);
  }
  return { networks, declared, otherKinds };
}

function merge(parent: NetworkFields, child: NetworkFields): NetworkFields {
  const given = Object.fromEntries(Object.entries(child).filter(([, value]) => value !== undefined && value !== null));
  return {
    ...parent,
    ...given,
    network: child.network,
    tags: union(parent.tags, child.tags),
    features: union(parent.features, child.features),
  };
}

function union(parent: readonly string[] | null | undefined, child: readonly string[] | null | undefined): string[] {
  return [...new Set([...(parent ?? []), ...(child ?? [])])];
}

function networkFromFields(fields: NetworkFields, path: string, problems: Problem[]): EvmNetwork | undefined {
  const { chain_id, rpc_urls, required_confirmations, average_blocktime_ms, symbol } = fields;
  for (const [name, value] of Object.entries({ chain_id, rpc_urls, required_confirmations, average_blocktime_ms, symbol })) {
    if (value === undefined || value === null) problems.push({ path: `${path}.${name}`, problem: 'is required' });
  }
  if (!chain_id || !rpc_urls || !required_confirmations || !average_blocktime_ms || !symbol) return undefined;
  return {
    name: fields.network,
    type: 'evm',
    chainId: chain_id,
    rpcUrls: rpc_urls,
    requiredConfirmations: required_confirmations,
    averageBlockTimeMs: average_blocktime_ms,
    eip1559: fields.features?.includes('eip1559') ?? false,
    symbol,
    isTestnet: fields.is_testnet ?? false,
    tags: fields.tags ?? [],
    explorerUrls: fields.explorer_urls ?? [],
  };
}
