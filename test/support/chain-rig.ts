import type { TestContext } from 'node:test';
import { createEvmChain, type EvmChain } from '../../src/chains/evm/evm-chain.js';
import type { Secp256k1Signer } from '../../src/core/ports/signer.js';
import type { EvmDraft } from '../../src/core/records/evm.js';
import type { EvmNetwork } from '../../src/core/records/network.js';
import type { Attempt } from '../../src/core/records/transaction.js';
import { type DurationClock, systemClock } from '../../src/core/work/clock.js';
import { createLocalSigner } from '../../src/signers/local/local-signer.js';
import { anvilKeys } from './anvil.js';
import { attemptOf, evmNetwork, rememberingLog } from './evm.js';

/** One gwei. */
export const gwei = 10n ** 9n;

/** The signer of anvil's first account. */
export const anvilSigner: Secp256k1Signer = createLocalSigner({ id: 'test', privateKey: Buffer.from(anvilKeys[0].slice(2), 'hex') });

/** An open chain and what it logged. */
export interface OpenedChain {
  readonly chain: EvmChain;
  readonly lines: readonly string[];
}

/** Opens a chain on these URLs, the first with the highest weight. It closes with the test. */
export function openChain(
  test: TestContext,
  urls: readonly string[],
  network: Partial<EvmNetwork> = {},
  clock: DurationClock = systemClock,
): OpenedChain {
  const log = rememberingLog();
  const rpcUrls = urls.map((url, index) => ({ url, weight: 100 - index }));
  const chain = createEvmChain({ network: evmNetwork(network), rpcUrls, rpcTimeoutMs: 3000, log, clock });
  test.after(() => chain.close());
  return { chain, lines: log.lines };
}

/** Drafts a transfer of one wei for 10 gwei, with these changes. */
function transferDraft(changes: Partial<EvmDraft> = {}): EvmDraft {
  return {
    network: 'evm',
    to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    valueWei: 1n,
    data: null,
    gasLimit: 100_000n,
    publishingFeeWei: 0n,
    price: { kind: 'eip1559', maxFeePerGasWei: 10n * gwei, maxPriorityFeePerGasWei: gwei },
    ...changes,
  };
}

/** Returns an attempt signed by anvil's first account. */
export async function signedAttempt(chain: EvmChain, nonce: bigint, changes: Partial<EvmDraft> = {}): Promise<Attempt> {
  return attemptOf(anvilSigner.address, nonce, await chain.sign(transferDraft(changes), nonce, anvilSigner));
}
