import type { FileNetwork } from './file-network.js';
import { evmNetworks } from './networks/evm.js';
import { solanaNetworks } from './networks/solana.js';
import { stellarNetworks } from './networks/stellar.js';

/**
 * The networks that come with the service, in the words of the configuration file, so that the same rules read both. TypeScript rather than JSON
 * files: the compiler checks their fields and puts them where the program is.
 */
export const bundledNetworks: readonly FileNetwork[] = [...evmNetworks, ...stellarNetworks, ...solanaNetworks];
