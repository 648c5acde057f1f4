import { createEvmChain } from '../../../src/chains/evm/evm-chain.js';
import type { Relayer } from '../../../src/core/records/relayer.js';
import { createLocalSigner } from '../../../src/signers/local/local-signer.js';
import { evmRelayer, evmRequest } from '../../support/evm.js';
import { type Auditor, createAuditor } from '../evm/auditor.js';
import { revertingData } from '../evm/ledger.js';
import { decodeTransaction, foreignTransfer } from '../evm/transaction.js';
import { createCellChain } from './cell-chain.js';
import { chainId, confirmations, gwei } from './cell-story.js';
import type { CellWorld, CellWorldParts, Wish } from './cell-world.js';
import { createForger } from './forger.js';
import { renumbered } from './renumberer.js';

/** Creates the world of a cell on an EVM network. */
export async function createEvmCell({ story, random, time, log, database, orders, guarded }: CellWorldParts): Promise<CellWorld> {
  const { subject, action } = story.cell;
  const signer = createLocalSigner({ id: 's1', privateKey: Buffer.alloc(32, 9) });
  const account = signer.address.toLowerCase();
  const chain = await createCellChain({ story, account, random, time, log, built: (block) => auditor.built(block), guarded });
  const { network } = chain;
  const relayer: Relayer = {
    ...evmRelayer(signer.address, { maxInFlight: subject.world === 'automatic' ? null : story.isBusy ? 64 : 16 }),
    network,
    notificationId: 'hook',
  };
  const auditor: Auditor = createAuditor({
    database,
    ledger: chain.ledger,
    orders: { ...orders, highestPriceWei: () => 0n },
    accounts: [{ relayerId: relayer.id, account: relayer.address }],
    confirmations,
    faults: new Set(['invented blocks', 'lag', 'nonce lie']),
    elapsedMs: time.elapsedMs,
    told: { market: 'by liars', chain: story.hasHonest ? 'by one that is honest too' : 'by liars alone' },
  });

  function dataOf({ request, amount }: Wish): { readonly data?: string; readonly gasLimit?: bigint } {
    if (request === 2 && amount === 2n) return { data: `0x${'ab'.repeat(20)}`, gasLimit: 200_000n };
    if (request !== 3) return {};
    return subject.world === 'reverting' ? { data: revertingData, gasLimit: 200_000n } : { data: `0x${'cd'.repeat(20)}` };
  }

  return {
    one: { relayer, signer },
    auditor,
    begin: chain.buildBlock,
    openChain: (parts) => createEvmChain({ ...parts, network, rpcUrls: network.rpcUrls }),
    answer: (index, body) => chain.nodes[index]?.answer(body) ?? '',
    renumbered,
    createForger,
    broadcasts(body) {
      const calls = [JSON.parse(body)].flat() as { readonly method: string; readonly params: readonly unknown[] }[];
      return calls.flatMap(({ method, params }) => (method === 'eth_sendRawTransaction' ? decodeTransaction(String(params[0])).hash : []));
    },
    content: (wish) =>
      evmRequest({
        to: `0x${'99'.repeat(20)}`,
        speed: 'average',
        valueWei: wish.amount,
        ...dataOf(wish),
        ...(wish.request === 2 && wish.amount === 2n ? { validUntilMs: wish.validUntilMs } : {}),
      }),
    async useKey() {
      if (action !== 'restart') return;
      const transaction = await foreignTransfer({
        chainId,
        signer,
        nonce: BigInt(chain.nextNonce()),
        to: `0x${'77'.repeat(20)}`,
        maxFeePerGasWei: 60n * gwei,
        maxPriorityFeePerGasWei: 10n * gwei,
      });
      log.write(`foreign use of nonce ${transaction.nonce}`);
      auditor.usedElsewhere();
      chain.gossip(transaction, null);
    },
    isSecondSlotUsed: () => chain.nextNonce() > 1,
  };
}
