import { z } from 'zod';
import type { NetworkType } from '../core/relayer/network.js';
import type { Environment } from './environment.js';
import { explorerUrls, rpcUrls, someText } from './field-schemas.js';

const chainIdProblem = 'must be an integer from 1 to 2^64-1';
const countProblem = 'must be an integer, at least 1';
const count = z.number(countProblem).int(countProblem).min(1, countProblem);

/** One network as written, by its kind: what is absent may come from the network that it is made `from`. */
export function networkSchemas(env: Environment) {
  const fields = {
    network: someText,
    from: someText.nullish(),
    rpc_urls: rpcUrls(env).min(1, 'must have at least one URL').nullish(),
    average_blocktime_ms: count.nullish(),
    is_testnet: z.boolean().nullish(),
    tags: z.array(z.string()).nullish(),
    explorer_urls: explorerUrls(env).nullish(),
  };
  return {
    evm: z.strictObject({
      ...fields,
      type: z.literal('evm'),
      chain_id: z
        .union([z.number(), z.bigint()], chainIdProblem)
        .refine((value) => (typeof value === 'bigint' || Number.isSafeInteger(value)) && value >= 1 && value < 2n ** 64n, chainIdProblem)
        .transform(BigInt)
        .nullish(),
      required_confirmations: count.nullish(),
      symbol: someText.nullish(),
      features: z.array(z.string()).nullish(),
      gas_price_cache: z
        .looseObject({ enabled: z.boolean().nullish() })
        .refine((cache) => cache.enabled !== true, 'a gas price cache is not supported; leave it out')
        .nullish(),
    }),
    stellar: z.strictObject({
      ...fields,
      type: z.literal('stellar'),
      passphrase: someText.nullish(),
      // Nothing here asks Horizon: what the existing relayer asks it, the prices of tokens, is for fees that users pay.
      horizon_url: z.string().nullish(),
    }),
    solana: z.strictObject({ ...fields, type: z.literal('solana') }),
  } satisfies Record<NetworkType, z.ZodType>;
}

type Schemas = ReturnType<typeof networkSchemas>;

/** A network of one kind as written. */
export type NetworkFields<Type extends NetworkType = NetworkType> = { readonly [T in Type]: z.output<Schemas[T]> }[Type];
