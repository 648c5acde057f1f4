import type { SandboxChain } from './sandbox-chain.js';
import { startSolanaSandbox } from './solana-sandbox.js';
import { startStellarSandbox } from './stellar-sandbox.js';

/**
 * Functions that start the chains other than the EVM one. Each takes the seconds between blocks, and returns a sentence if its chain is not
 * installed.
 */
export const otherChains: readonly ((blockSeconds: number) => Promise<SandboxChain | string>)[] = [startStellarSandbox, startSolanaSandbox];
