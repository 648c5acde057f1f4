import { getBase58Decoder } from '@solana/kit';
import { createSolanaChain as openSolanaChain } from '../../../src/chains/solana/solana-chain.js';
import { createSolanaChain, newest } from '../../../src/sandbox/solana/chain.js';
import { readTransactionText } from '../../../src/sandbox/solana/wire-transaction.js';
import { solanaKey, solanaNetwork, solanaRelayer, solanaRequest, transferInstruction } from '../../support/solana.js';
import { createSolanaAuditor } from '../solana/auditor.js';
import { createGateway } from '../solana/node.js';
import { trueTimeMs } from '../virtual-time.js';
import { held } from './cell-story.js';
import { type CellWorld, type CellWorldParts, noForger } from './cell-world.js';

const blockMs = 1_000;
/** A fifth of the real number, so that blockhashes expire within a cell. */
const blockhashAgeBlocks = 30;
const fullLamports = 10n ** 10n;

/** Creates the world of a cell on a Solana cluster: the real runtime behind simulated nodes. */
export async function createSolanaCell({ story, random, time, log, database, orders, guarded }: CellWorldParts): Promise<CellWorld> {
  const key = solanaKey(Buffer.alloc(32, 9));
  const receiver = solanaKey(Buffer.alloc(32, 7)).address;
  const chain = createSolanaChain({
    blockhashAgeBlocks,
    finalizedAfterBlocks: 6,
    nowMs: () => trueTimeMs(time),
    accounts: [key.address, receiver].map((address) => ({ address, lamports: fullLamports })),
    genesisHash: getBase58Decoder().decode(Buffer.alloc(32, 5)),
  });
  const network = solanaNetwork({
    rpcUrls: story.roles.map((_, index) => ({ url: `http://n${index}.sim`, weight: 100 - index })),
    averageBlockTimeMs: blockMs,
  });
  const relayer = { ...solanaRelayer(key.address), network, notificationId: 'hook' };
  const auditor = createSolanaAuditor({
    database,
    chain,
    orders,
    relayers: [{ relayerId: relayer.id, account: key.address }],
    blockhashAgeBlocks: BigInt(blockhashAgeBlocks),
    elapsedMs: time.elapsedMs,
  });
  const nodes = story.roles.map((_, index) =>
    createGateway({
      name: `n${index}`,
      chain,
      other: () => null,
      nodeCount: 1,
      recentBlocks: 2 * blockhashAgeBlocks,
      pick: () => 0,
      withheld: () => false,
    }),
  );
  const limits = random.fork('limits');

  function build(): void {
    const nowMs = time.elapsedMs();
    chain.pool.losesPackets = nowMs >= held.fromMs && nowMs < held.toMs;
    chain.advance();
    const block = chain.tip(newest);
    log.write(`block ${block.height} [${block.landed.map(({ transaction }) => transaction.signature.slice(0, 6)).join(' ')}]`);
    auditor.built(block);
    time.after(blockMs, () => guarded(build));
  }

  return {
    one: { relayer, signer: key.signer },
    auditor,
    begin: build,
    openChain: (parts) =>
      openSolanaChain({ ...parts, network, rpcUrls: network.rpcUrls, drawLimit: (least, end) => limits.between(least, end - 1) }),
    answer: (index, body) => nodes[index]?.answer(body) ?? '',
    renumbered(call, shift, own) {
      for (const node of nodes) node.shift = shift;
      try {
        return own(call);
      } finally {
        for (const node of nodes) node.shift = 0n;
      }
    },
    createForger: () => noForger,
    broadcasts(body) {
      const calls = [JSON.parse(body)].flat() as { readonly method: string; readonly params: readonly unknown[] }[];
      return calls.flatMap(({ method, params }) => (method === 'sendTransaction' ? readTransactionText(String(params[0])).signature : []));
    },
    content: ({ amount, validUntilMs }) =>
      solanaRequest({ instructions: [transferInstruction(key.address, receiver, amount)], validUntilMs }),
    // Its accounts have no numbers that another service could use.
    useKey: async () => undefined,
    isSecondSlotUsed: () => false,
  };
}
