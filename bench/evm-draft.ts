/**
 * The calls to a node for drafting: 50 sends between two blocks, of several kinds, on a real anvil. Prints calls and time per send.
 *
 *   npm run build && node dist/bench/evm-draft.js
 */
import { performance } from 'node:perf_hooks';
import { Wallet } from 'ethers';
import { createEvmChain, type EvmChain } from '../src/chains/evm/evm-chain.js';
import type { EvmContent } from '../src/core/records/evm.js';
import { type Anvil, startAnvil } from '../test/support/anvil.js';
import { anvilSigner, signedAttempt } from '../test/support/chain-rig.js';
import { broadcastOne, contractThat, draftRequest, evmContent, evmNetwork, rememberingLog } from '../test/support/evm.js';

const sends = 50;

const node = await startAnvil({ noMining: true });
const contract = await deployed(node);
const receivers = Array.from({ length: sends }, () => Wallet.createRandom().address);
const call = (index: number): string => `0xa9059cbb${index.toString(16).padStart(64, '0')}`;

const kinds: Readonly<Record<string, { readonly tags?: readonly string[]; readonly content: (index: number) => Partial<EvmContent> }>> = {
  'transfers to one receiver': { content: (index) => ({ valueWei: BigInt(index) }) },
  'transfers to 50 receivers': { content: (index) => ({ to: receivers[index] ?? null }) },
  'the same call of a contract': { content: () => ({ to: contract, valueWei: 0n, data: call(0) }) },
  '50 calls of a contract': { content: (index) => ({ to: contract, valueWei: 0n, data: call(index) }) },
  'the same, with a gas limit': { content: (index) => ({ to: contract, valueWei: 0n, data: call(index), gasLimit: 90_000n }) },
  '50 calls, with an L1 fee': { tags: ['optimism'], content: (index) => ({ to: contract, valueWei: 0n, data: call(index) }) },
};

process.stdout.write(`${'50 sends between two blocks'.padEnd(32)}HTTP calls per send   ms per send\n`);
for (const [name, { tags, content }] of Object.entries(kinds)) {
  const chain = open(node, tags ?? []);
  await chain.head();
  const before = chain.calls().http;
  const sinceMs = performance.now();
  for (let index = 0; index < sends; index += 1) {
    const draft = await chain.draft(draftRequest(anvilSigner.address, { content: evmContent(content(index)) }));
    if ('refused' in draft) throw new Error(draft.sentence);
  }
  const ms = (performance.now() - sinceMs) / sends;
  const calls = (chain.calls().http - before) / sends;
  process.stdout.write(`${name.padEnd(32)}${calls.toFixed(2).padStart(19)}${ms.toFixed(2).padStart(14)}\n`);
  await chain.close();
}
await node.stop();

/** A network with 12 s between blocks, which bounds how long answers are remembered. */
function open({ url }: Anvil, tags: readonly string[]): EvmChain {
  const network = evmNetwork({ tags, averageBlockTimeMs: 12_000 });
  return createEvmChain({ network, rpcUrls: [{ url, weight: 1 }], rpcTimeoutMs: 5_000, log: rememberingLog() });
}

/** A contract that accepts every call; and one at the address of the L1 fee oracle that returns a fee. */
async function deployed(anvil: Anvil): Promise<string> {
  const chain = open(anvil, []);
  const creation = { to: null, valueWei: 0n, data: contractThat('returns', '0x01'), gasLimit: 500_000n };
  const { hash, raw } = await signedAttempt(chain, 0n, creation);
  await broadcastOne(chain, raw);
  await anvil.mine();
  await anvil.rpc('anvil_setCode', ['0x420000000000000000000000000000000000000F', '0x6207a12060005260206000f3']);
  const { contractAddress } = (await anvil.rpc('eth_getTransactionReceipt', [hash])) as { contractAddress: string };
  await chain.close();
  return contractAddress;
}
