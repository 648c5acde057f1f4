import type { Chain, Head } from '../../core/ports/chain.js';
import type { SolanaNetwork } from '../../core/relayer/network.js';
import { onNetwork } from '../../core/relayer/on-network.js';
import type { RpcOptions } from '../rpc/endpoint.js';
import { createNodes } from '../rpc/nodes.js';
import { createAttemptOutcomes } from './attempt-outcomes.js';
import { placeCall, rememberPlace } from './block-place.js';
import { createBroadcaster } from './broadcast.js';
import { contentFromRequest } from './content.js';
import { solanaDialect } from './dialect.js';
import { draftAttempt, readBalance } from './draft.js';
import { createLifetimes } from './lifetime.js';
import { createMadeMessages } from './price-attempt.js';
import { ed25519SignerOf, signDraft } from './sign.js';
import { signForCaller } from './sign-foreign.js';
import { whyFailed } from './statuses.js';

/**
 * Opens a Solana cluster. Its transactions have no nonces: each stands alone, and lives until its blockhash dies. Asks no node until it
 * must.
 */
export function createSolanaChain(options: RpcOptions<SolanaNetwork>): Chain {
  const { network, log } = options;
  const networkName = network.name;
  const { rpc, memory, methods } = createNodes(options, solanaDialect, 2);
  const lifetimes = createLifetimes(rpc, memory);
  const made = createMadeMessages();
  const outcomes = createAttemptOutcomes({ rpc, memory, log, networkName });
  const broadcaster = createBroadcaster(rpc, log, networkName);
  const { genesis } = solanaDialect;
  let seen: Head = { number: 0n, hash: '', timestampMs: 0 };

  /** The newest confirmed block, named by its slot. What is remembered of the one before is forgotten. */
  async function readHead(): Promise<Head> {
    const { method, params, read } = placeCall('confirmed');
    const place = await rpc.askHead(method, params, (answer) => {
      const told = read(answer, null);
      return { ...told, number: told.slot };
    });
    rememberPlace(memory, place);
    if (place.slot !== seen.number) seen = { number: place.slot, hash: place.slot.toString(), timestampMs: Date.now() };
    return seen;
  }

  return {
    ...methods,
    network,
    contentOf: (request, context) => contentFromRequest(onNetwork('solana', request), context),
    isUnsequenced: () => true,
    genesisHash: () => rpc.ask(genesis.method, genesis.params, genesis.read),
    head: readHead,
    balanceOf: (account) => readBalance(rpc, account, 'confirmed'),
    draft({ relayer, content }) {
      if (content === 'filler') throw new Error('a Solana transaction has no slot to fill');
      return draftAttempt({ rpc, memory, lifetimes, made }, relayer, onNetwork('solana', content));
    },
    sign: (draft, _nonce, signer) => signDraft(onNetwork('solana', draft), ed25519SignerOf(signer)),
    broadcastAll: (raws) => broadcaster.send(raws),
    whyFailed: ({ hash }) => whyFailed(rpc, hash),
    sequence: null,
    unsequenced: {
      outcomes: (attempts) => outcomes.of(attempts.map(({ hash, fields }) => ({ hash, fields: onNetwork('solana', fields) }))),
      replacement: 'queue',
      whyEndless: () => null,
    },
    signForeign: { sign: (transaction, relayer, signer) => signForCaller(transaction, relayer, ed25519SignerOf(signer)) },
  };
}
