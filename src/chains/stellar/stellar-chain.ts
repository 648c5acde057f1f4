import type { Chain } from '../../core/ports/chain/chain.js';
import type { Receipt } from '../../core/ports/chain/outcomes.js';
import type { RequestContext } from '../../core/ports/chain/requests.js';
import type { Sequence } from '../../core/ports/chain/slots.js';
import type { Ed25519Signer, Signer } from '../../core/ports/signer.js';
import type { StellarNetwork } from '../../core/records/network.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { Attempt } from '../../core/records/transaction.js';
import { systemClock } from '../../core/work/clock.js';
import { createDenials } from '../rpc/denials.js';
import type { RpcOptions } from '../rpc/endpoint.js';
import { firstFor } from '../rpc/endpoint-selector.js';
import { createNodes } from '../rpc/nodes.js';
import { createSecondReading } from '../rpc/second-reading.js';
import { lockedOf, readAccount, whyPowerless } from './account.js';
import { createAccountOpinions } from './account-opinions.js';
import { accountOf } from './address.js';
import { createAttemptOutcomes } from './attempt-outcomes.js';
import { createBroadcaster } from './broadcast.js';
import { bumpFee } from './bump-fee.js';
import { contentFromRequest } from './content.js';
import { stellarDialect } from './dialect.js';
import { type DraftDeps, draftAttempt } from './draft.js';
import { findSenderTransaction, hasUsedLast, readSequenceAt } from './history.js';
import { createMarket } from './market.js';
import { fillerOf } from './own-content.js';
import { whyForbidden } from './policy.js';
import { questions } from './questions.js';
import { quoteAttempt } from './quote.js';
import type { Account } from './read-entries.js';
import { createReceiptReader, ledgerName, readTransactions, receiptFrom } from './receipts.js';
import { receiversIn } from './receivers.js';
import { createRefusedNumbers } from './refused-numbers.js';
import { failureOf, resultCodesOf } from './result-codes.js';
import { judge } from './rules.js';
import { signDraft } from './sign.js';
import { readEnvelopeToSign, signForeignTransaction } from './sign-foreign.js';
import { apartForMs } from './simulate.js';
import { networkIdOf } from './transaction.js';

/** A Stellar network. */
export interface StellarChain extends Chain {
  readonly sequence: Sequence;
}

/** Opens a Stellar network without asking a node. */
export function createStellarChain(options: RpcOptions<StellarNetwork>): StellarChain {
  const { network, log, clock = systemClock } = options;
  const { name: networkName, passphrase } = network;
  const networkId = networkIdOf(passphrase);
  const { rpc, memory, methods } = createNodes(options, stellarDialect(passphrase));
  const market = createMarket(rpc, memory);
  const broadcaster = createBroadcaster(rpc, log, networkName);
  const reader = createReceiptReader(rpc, networkId, clock);
  const secondReading = createSecondReading({ rpc, reader, log, nowMs: clock.elapsedMs, keepsBlocks: true });
  const outcomes = createAttemptOutcomes({ rpc, secondReading, networkId, networkName, clock, log });
  const search = { rpc, networkId, secondReading };
  const refused = createRefusedNumbers(broadcaster, networkId, clock);
  const opinions = createAccountOpinions(rpc, memory, {
    hasUsed: (address, account) => hasUsedLast(search, address, account),
    isRefused: refused.has,
  });
  const history = { ...search, opinions };
  const apart = createDenials(clock, apartForMs);
  const drafting: DraftDeps = { rpc, opinions, market, network, networkId, broadcaster, clock, apart };
  const accountBy = (account: string, by?: 'several') =>
    by === 'several' && !rpc.isAlone() ? opinions.several(account) : opinions.shown(account);
  const askTransaction = (hash: string) => rpc.ask(questions.transaction(hash, networkId, rpc.newestNumber()));

  return {
    ...methods,
    network,
    contentOf(request, { relayer, nowMs, earlier, isRefused }: RequestContext) {
      return contentFromRequest(onNetwork('stellar', request), {
        network,
        account: relayer.address,
        policies: onNetwork('stellar', relayer.policies),
        nowMs,
        earlier: earlier === null ? null : onNetwork('stellar', earlier),
        isRefused,
      });
    },
    whyForbidden: (content, relayer, approvals) => whyForbidden(onNetwork('stellar', content), relayer, approvals),
    judge: (content, relayer, asker) => judge(onNetwork('stellar', content), relayer, asker),
    receiversOf: (content) => receiversIn(onNetwork('stellar', content)),
    isUnsequenced: (content) => onNetwork('stellar', content).kind === 'fee_bump',
    // The first ledger is made from the passphrase alone, so the passphrase identifies the network.
    genesisHash: async () => networkIdOf(await rpc.ask(questions.passphrase())).toString('hex'),
    async head() {
      const { number, timestampMs, rules } = await rpc.askHead(questions.latestLedger());
      market.takeRules(rules);
      const endpoint = rpc.headEndpoint();
      const time = timestampMs === null ? ({ timestampMs: clock.nowMs(), isOwnTime: true } as const) : { timestampMs };
      const head = { number, hash: ledgerName(number), ...time };
      return endpoint === undefined ? head : { ...head, endpoint };
    },
    balanceOf: async (account, by) => (await accountBy(account, by))?.balanceStroops ?? 0n,
    async lockedOf(account, by) {
      const known = await accountBy(account, by);
      if (known === null) return 0n;
      return lockedOf(known, by === 'several' ? await opinions.rules(market.rules()) : market.rules());
    },
    async whyUnusable(account, from) {
      const isUsable = (shown: Account | null) => shown === null || whyPowerless(shown, []) === null;
      const known = from === 'head' ? await opinions.read(account, isUsable) : await readAccount(rpc, account, { first: from });
      return known === null ? null : whyPowerless(known, []);
    },
    market: async () => null,
    quote: (request) => quoteAttempt(drafting, request),
    draft: (request) => draftAttempt(drafting, request),
    sign: (draft, nonce, signer) => signDraft(networkId, onNetwork('stellar', draft), nonce, ed25519(signer)),
    async broadcastAll(raws, isStillDue) {
      const answers = await broadcaster.send(raws, isStillDue);
      refused.note(raws);
      return answers;
    },
    async whyFailed({ hash }) {
      const view = await askTransaction(hash).catch(() => null);
      const result = view?.found?.result ?? null;
      return result === null ? 'failed on chain' : `failed on chain: ${failureOf(resultCodesOf(result))}`;
    },
    sequence: {
      losesBlocks: false,
      // An account that does not exist has used no sequence number.
      async nextOf(account) {
        const isNext = (shown: Account | null) => shown !== null && [0n, 1n].includes(opinions.stepsSince(account, shown.sequence) ?? -1n);
        return ((await opinions.read(account, isNext))?.sequence ?? 0n) + 1n;
      },
      nextAt: (account, ledger, otherThan) => readSequenceAt(history, account, ledger, firstFor(otherThan)),
      findSender: (account, sequence, blocks) => findSenderTransaction(history, account, sequence, blocks),
      async receipts(hashes) {
        const views = await readTransactions(rpc, networkId, { hashes, isRefuted: secondReading.isRefuted });
        const found = new Map<string, Receipt>();
        for (const [hash, view] of views) {
          const receipt = receiptFrom(hash, view);
          if (receipt === null) continue;
          found.set(hash, receipt);
          secondReading.noteSource(receipt, view.by ?? undefined);
        }
        return { found, unanswered: new Set() };
      },
      async blockHash(height) {
        return height <= (await rpc.ask(questions.latestLedger())).number ? ledgerName(height) : null;
      },
      // A closed ledger is final; the node must show the ledger that it reported.
      async finalBlock({ number }, required) {
        if (required > 1 && (await rpc.ask(questions.latestLedger())).number < number) return null;
        return number - BigInt(required) + 1n;
      },
      maxInFlight: async () => 1,
      // The search of the account's history has read the ledgers.
      areGone: async () => true,
      readAgain: secondReading.of,
      cannotFail: async () => false,
      // Nodes do not report the contents of their queues.
      knows: async (hash) => (await askTransaction(hash)).found !== null || 'unreported',
      bumpFee: (request) => bumpFee({ market, broadcaster }, request),
      fillerOf,
    },
    unsequenced: {
      outcomes: outcomes.of,
      // All attempts share one sequence number, so only one of them can land.
      replacement: 'outbid',
      // Only the account's next sequence number can be used, and only once.
      soleUseOf(content) {
        const wanted = onNetwork('stellar', content);
        return wanted.kind === 'fee_bump' ? accountOf(wanted.sourceAccount) : null;
      },
      // A node has no transaction of an account in one of its two queues while that account pays for anything in the other.
      excludes: (attempt, own) => isContractCall(attempt) !== isContractCall(own),
      whyEndless({ fields }) {
        const { maxTimeS, sourceAccount } = onNetwork('stellar', fields);
        if (maxTimeS !== null) return null;
        return `transaction_xdr has no time bounds, so it can land at any time; only its source account ${sourceAccount} can prevent that, by using its sequence number`;
      },
    },
    signForeign: {
      // It refuses the ledger bounds that the service gives its own.
      looksLikeOwn: false,
      check: (transaction, relayer) => readEnvelopeToSign(networkId, transaction, relayer),
      sign: (transaction, relayer, signer) => signForeignTransaction(rpc, networkId, transaction, relayer, ed25519(signer)),
    },
  };
}

function isContractCall({ fields }: Attempt): boolean {
  return onNetwork('stellar', fields).bid.resourceFeeStroops > 0n;
}

function ed25519(signer: Signer): Ed25519Signer {
  if (signer.curve !== 'ed25519') throw new Error('a Stellar signer must have an ed25519 key');
  return signer;
}
