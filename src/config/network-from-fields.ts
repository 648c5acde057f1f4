import type { Network } from '../core/relayer/network.js';
import type { NetworkFields } from './network-schemas.js';
import type { Problem } from './problem.js';

/** Ledgers close about every five seconds, slots take 0.4: nothing but how often a node is looked at depends on it. */
const usualBlockTimeMs = { stellar: 5_000, solana: 400 } as const;

/** The network that the fields, inherited ones included, make; undefined with what is missing put on the list. */
export function networkFromFields(fields: NetworkFields, path: string, problems: Problem[]): Network | undefined {
  const rpcUrls = fields.rpc_urls;
  const shared = {
    name: fields.network,
    isTestnet: fields.is_testnet ?? false,
    tags: fields.tags ?? [],
    explorerUrls: fields.explorer_urls ?? [],
  };
  if (fields.type === 'evm') {
    const { chain_id, rpc_urls, required_confirmations, average_blocktime_ms, symbol } = fields;
    report({ chain_id, rpc_urls, required_confirmations, average_blocktime_ms, symbol }, path, problems);
    if (!chain_id || !rpcUrls || !required_confirmations || !average_blocktime_ms || !symbol) return undefined;
    return {
      ...shared,
      type: 'evm',
      chainId: chain_id,
      rpcUrls,
      requiredConfirmations: required_confirmations,
      averageBlockTimeMs: average_blocktime_ms,
      eip1559: fields.features?.includes('eip1559') ?? false,
      symbol,
    };
  }
  const averageBlockTimeMs = fields.average_blocktime_ms ?? usualBlockTimeMs[fields.type];
  if (fields.type === 'solana') {
    report({ rpc_urls: rpcUrls }, path, problems);
    if (!rpcUrls) return undefined;
    return { ...shared, type: 'solana', rpcUrls, requiredConfirmations: 1, averageBlockTimeMs, symbol: 'SOL' };
  }
  const { passphrase } = fields;
  report({ rpc_urls: rpcUrls, passphrase }, path, problems);
  if (!rpcUrls || !passphrase) return undefined;
  return { ...shared, type: 'stellar', passphrase, rpcUrls, requiredConfirmations: 1, averageBlockTimeMs, symbol: 'XLM' };
}

function report(required: Readonly<Record<string, unknown>>, path: string, problems: Problem[]): void {
  for (const [name, value] of Object.entries(required)) {
    if (value === undefined || value === null) problems.push({ path: `${path}.${name}`, problem: 'is required' });
  }
}
