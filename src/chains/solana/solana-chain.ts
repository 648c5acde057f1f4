import type { Chain } from '../../core/ports/chain/chain.js';
import type { Head } from '../../core/ports/chain/head.js';
import { min } from '../../core/records/bigints.js';
import type { SolanaNetwork } from '../../core/records/network.js';
import { onNetwork } from '../../core/records/on-network.js';
import { systemClock } from '../../core/work/clock.js';
import { agreedIdentity } from '../rpc/agreed.js';
import { createBalances } from '../rpc/balances.js';
import { createDenials } from '../rpc/denials.js';
import type { RpcOptions } from '../rpc/endpoint.js';
import { nodeUnavailable } from '../rpc/node-error.js';
import { createNodes } from '../rpc/nodes.js';
import { createAttemptOutcomes } from './attempt-outcomes.js';
import { createBroadcaster } from './broadcast.js';
import { contentFromRequest } from './content.js';
import { solanaDialect } from './dialect.js';
import { baseOf, type DraftDeps, draftAttempt, whyForbidden, whyUnusable } from './draft.js';
import { createLifetimes } from './lifetime.js';
import { createMarket } from './market.js';
import { paidAccounts } from './outflow.js';
import { createPositions } from './positions.js';
import { createRecentMessages, type RecentMessages } from './price-attempt.js';
import { questions } from './questions.js';
import { quoteAttempt } from './quote.js';
import { judge } from './rules.js';
import { ed25519SignerOf, signDraft } from './sign.js';
import { readTransactionToSign, signForeignTransaction } from './sign-foreign.js';
import { deniedForMs } from './verdict.js';
import { whyFailed } from './why-failed.js';

/** The options of a Solana cluster. */
export interface SolanaChainOptions extends RpcOptions<SolanaNetwork> {
  /** Chooses unit limits. Default: the system's random numbers. */
  readonly drawLimit?: RecentMessages['drawLimit'];
}

/** Opens a Solana cluster without asking a node. All its transactions are unsequenced and can land until their blockhash expires. */
export function createSolanaChain(options: SolanaChainOptions): Chain {
  const { network, log, clock = systemClock } = options;
  const networkName = network.name;
  const { rpc, memory, methods } = createNodes(options, solanaDialect, 2);
  const positions = createPositions(rpc, memory);
  const lifetimes = createLifetimes(rpc, memory, positions, clock);
  const market = createMarket(rpc, memory);
  const recent = createRecentMessages(options.drawLimit);
  const denials = createDenials(clock, deniedForMs);
  const unreached = createDenials(clock, deniedForMs);
  const balanceFrom = createBalances(rpc);
  const outcomes = createAttemptOutcomes({ rpc, positions, clock, log, networkName });
  const broadcaster = createBroadcaster(rpc, log, networkName);
  const drafting: DraftDeps = { rpc, memory, lifetimes, market, recent, denials, unreached };
  let seen: Head = { number: 0n, hash: '', timestampMs: 0, isOwnTime: true };

  /** Reads the newest confirmed block, named by its slot. */
  async function readHead(): Promise<Head> {
    const newest = await positions.head();
    if (newest.slot !== seen.number)
      seen = { number: newest.slot, hash: newest.slot.toString(), timestampMs: clock.nowMs(), isOwnTime: true };
    return seen;
  }

  return {
    ...methods,
    network,
    contentOf: (request, context) => contentFromRequest(onNetwork('solana', request), context),
    whyForbidden: (content, relayer, approvals) => whyForbidden(onNetwork('solana', content), relayer, approvals),
    judge(content, { policies, address }, asker) {
      const { rules } = onNetwork('solana', policies);
      return rules === null ? null : judge(rules, baseOf(onNetwork('solana', content), address).message, asker);
    },
    receiversOf: (content, account) => paidAccounts(baseOf(onNetwork('solana', content), account).message),
    isUnsequenced: () => true,
    async genesisHash() {
      const genesis = agreedIdentity(rpc, await rpc.opinions(questions.genesis()));
      if (genesis === 'none') throw nodeUnavailable(null);
      return genesis === 'unproved' ? null : genesis.hash;
    },
    head: readHead,
    async balanceOf(account) {
      const [processed, confirmed] = await Promise.all([
        balanceFrom(`processed ${account}`, questions.balance(account, 'processed')),
        balanceFrom(`confirmed ${account}`, questions.balance(account, 'confirmed')),
      ]);
      // Funds that unconfirmed blocks spent are gone, and a fork may undo funds that they brought.
      return min(processed, confirmed);
    },
    lockedOf: async () => 0n,
    whyUnusable: (account, from) => whyUnusable(rpc, account, from),
    market: async () => null,
    quote: (request) => quoteAttempt(drafting, clock, request),
    draft({ content, ...request }) {
      if (content === 'filler') throw new Error('a Solana transaction has no slot to fill');
      return draftAttempt(drafting, request, onNetwork('solana', content));
    },
    sign: (draft, _nonce, signer) => signDraft(onNetwork('solana', draft), ed25519SignerOf(signer)),
    broadcastAll: broadcaster.send,
    whyFailed: ({ hash }) => whyFailed(rpc, hash),
    sequence: null,
    unsequenced: {
      outcomes: (attempts) => outcomes.of(attempts.map(({ hash, raw, fields }) => ({ hash, raw, fields: onNetwork('solana', fields) }))),
      replacement: 'queue',
      whyEndless: () => null,
      soleUseOf: () => null,
      excludes: () => false,
    },
    signForeign: {
      // Its transactions have no slots.
      looksLikeOwn: false,
      check: readTransactionToSign,
      sign: (transaction, relayer, signer) => signForeignTransaction(rpc, transaction, relayer, ed25519SignerOf(signer)),
    },
  };
}
