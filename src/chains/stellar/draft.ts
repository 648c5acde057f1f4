import { xdr } from '@stellar/stellar-sdk';
import type { DraftRequest, Refusal } from '../../core/ports/chain.js';
import { onNetwork } from '../../core/relayer/on-network.js';
import type { StellarPolicies } from '../../core/relayer/relayer.js';
import type { StellarBid, StellarDraft, StellarFeeBumpContent, StellarOperationsContent } from '../../core/transaction/stellar.js';
import type { Attempt } from '../../core/transaction/transaction.js';
import type { Rpc } from '../rpc/rpc.js';
import { type Account, readAccount } from './account.js';
import { accountOf } from './address.js';
import type { Broadcaster } from './broadcast.js';
import { baseFeeStroops, leastOutbiddingStroops } from './fee-rules.js';
import type { Market } from './market.js';
import { nativeOutflowStroops } from './outflow.js';
import { fillerOf, isContractOperation } from './own-content.js';
import { priceAttempt } from './price-attempt.js';
import { getTransactionCall } from './receipts.js';
import { simulate } from './simulate.js';

/**
 * Simulates, prices and checks funds: a version that can be signed, or why there is none. The first version in a slot is a plain transaction; one that must
 * outbid others is a fee bump, which is all that nodes take in their place. Throws `NODE_UNAVAILABLE`.
 */
export async function draftAttempt(deps: DraftDeps, request: DraftRequest): Promise<StellarDraft | Refusal> {
  const { relayer, validUntilMs } = request;
  const isFiller = request.content === 'filler';
  const content = request.content === 'filler' ? fillerOf(relayer.address) : onNetwork('stellar', request.content);
  const payer = await readAccount(deps.rpc, relayer.address);
  if (payer === null) return noAccount(relayer.address, deps.networkName);
  const drafting: Drafting = {
    ...deps,
    policies: onNetwork('stellar', relayer.policies),
    isFiller,
    payer,
    payerAddress: relayer.address,
    outbids: await livingBids(deps, request.outbids),
    validUntilMs,
    nextNonce: request.nextNonce ?? null,
  };
  const draft = content.kind === 'operations' ? await draftOwn(drafting, content) : await draftFeeBump(drafting, content);
  if ('refused' in draft) return draft;
  return fundsRefusal(drafting, draft.costStroops) ?? draft;
}

/** What nodes have refused, or thrown out because its time is over, needs not be outbid. */
async function livingBids({ rpc, networkId, broadcaster }: DraftDeps, attempts: readonly Attempt[]): Promise<readonly StellarBid[]> {
  const held = attempts.filter(({ raw }) => broadcaster.refusalOf(raw) === null);
  const versions = held.map(({ fields }) => onNetwork('stellar', fields));
  const [first] = held;
  if (first === undefined || versions.every(({ maxTimeS }) => maxTimeS === null)) return versions.map(({ bid }) => bid);
  const { method, params, read } = getTransactionCall(first.hash, networkId);
  const { latestCloseTimeS } = await rpc.ask(method, params, read, { first: 'head' });
  return versions.filter(({ maxTimeS }) => maxTimeS === null || latestCloseTimeS < maxTimeS).map(({ bid }) => bid);
}

/** A slot must come free even when the account is nearly empty. */
function fundsRefusal({ payer, policies, isFiller }: Drafting, costStroops: bigint): Refusal | null {
  const mustRemainStroops = isFiller ? 0n : policies.minBalanceStroops;
  const { balanceStroops, lockedStroops } = payer;
  if (balanceStroops - lockedStroops >= costStroops && balanceStroops - costStroops >= mustRemainStroops) return null;
  const rest = mustRemainStroops === 0n ? '' : `, and ${mustRemainStroops} must remain`;
  const sentence = `insufficient funds: the account has ${balanceStroops} stroops, of which ${lockedStroops} are reserved; the transaction may cost ${costStroops}${rest}`;
  return { refused: 'insufficient_funds', sentence, lasting: false };
}

/** What drafting works with. */
export interface DraftDeps {
  readonly rpc: Rpc;
  readonly market: Market;
  readonly networkName: string;
  readonly networkId: Buffer;
  readonly broadcaster: Broadcaster;
}

/** What one version is drafted from. */
interface Drafting extends DraftDeps {
  readonly policies: StellarPolicies;
  readonly isFiller: boolean;
  /** The relayer's account. */
  readonly payer: Account;
  readonly payerAddress: string;
  /** The bids of the versions that a node may still hold. */
  readonly outbids: readonly StellarBid[];
  readonly validUntilMs: number | null;
  readonly nextNonce: bigint | null;
}

/** Why nothing can be drafted for an account that no ledger has. */
function noAccount(address: string, networkName: string): Refusal {
  return {
    refused: 'insufficient_funds',
    sentence: `account ${address} does not exist on ${networkName} yet: it must be funded`,
    lasting: false,
  };
}

/** A transaction's own fee has 32 bits; that of a fee bump has more. */
const greatestOwnFeeStroops = 2n ** 32n - 1n;

/**
 * A transaction of the relayer's own account, or why there can be none: plain where nothing is to be outbid, else in a fee bump.
 * Throws `NODE_UNAVAILABLE`.
 */
async function draftOwn(drafting: Drafting, content: StellarOperationsContent): Promise<StellarDraft | Refusal> {
  const { rpc, market, payer, outbids, isFiller, policies, nextNonce } = drafting;
  // Nobody could tell later by what it was used: an account begins with the number of its ledger.
  if (nextNonce !== null && payer.sequence >= nextNonce) {
    const sentence = `the account was made, or used by somebody else, just now: its sequence number is ${payer.sequence}`;
    return { refused: 'reverts', sentence, lasting: false };
  }
  // With a sequence number it would hold up all that comes behind it until then.
  if (content.minTimeS * 1000n > BigInt(Date.now())) {
    return { refused: 'reverts', sentence: `its time bounds begin at ${content.minTimeS}, in unix seconds`, lasting: false };
  }
  const isContract = content.operations.some((text) => isContractOperation(xdr.Operation.fromXDR(text, 'base64')));
  const [ready, bidPerOperationStroops] = await Promise.all([
    isContract ? simulate(rpc, content, payer.sequence + 1n) : null,
    market.bidPerOperationStroops(isContract),
  ]);
  if (ready !== null && 'refused' in ready) return ready;
  const resourceFeeStroops = ready?.resourceFeeStroops ?? 0n;
  const ownCount = content.operations.length;
  const ownLeastStroops = baseFeeStroops * BigInt(ownCount);
  const isBump = outbids.length > 0;
  const bid = priceAttempt({
    policies,
    maxFeeStroops: content.maxFeeStroops,
    resourceFeeStroops,
    operationCount: isBump ? ownCount + 1 : ownCount,
    leastStroops: isBump ? leastOutbiddingStroops(outbids, ownLeastStroops, ownCount) : ownLeastStroops,
    bidPerOperationStroops,
    isFiller,
  });
  if ('refused' in bid) return bid;
  const operations = ready === null ? content.operations : [ready.operation];
  // Inside a fee bump the least will do: nodes look at the outer bid.
  const ownFeeStroops = smaller(isBump ? ownLeastStroops + resourceFeeStroops : bid.feeStroops, greatestOwnFeeStroops);
  return {
    network: 'stellar',
    inner: {
      kind: 'own',
      operations,
      memo: content.memo,
      minTimeS: content.minTimeS,
      sorobanData: ready?.sorobanData ?? null,
      feeStroops: ownFeeStroops,
    },
    bumpFeeStroops: isBump ? bid.feeStroops : null,
    bid: isBump ? bid : { ...bid, feeStroops: ownFeeStroops },
    sourceAccount: content.sourceAccount,
    sequence: null,
    ledger: payer.ledger,
    maxTimeS: earliest(
      content.maxTimeS,
      isFiller || drafting.validUntilMs === null ? null : BigInt(Math.floor(drafting.validUntilMs / 1000)),
    ),
    costStroops: (isBump ? bid.feeStroops : ownFeeStroops) + nativeOutflowStroops(operations, drafting.payerAddress),
  };
}

function earliest(a: bigint | null, b: bigint | null): bigint | null {
  return a === null || b === null ? (a ?? b) : smaller(a, b);
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** A fee bump of an envelope that another account signed, or why there can be none. Throws `NODE_UNAVAILABLE`. */
async function draftFeeBump(drafting: Drafting, content: StellarFeeBumpContent): Promise<StellarDraft | Refusal> {
  const late = await whyNeverDue(drafting, content);
  if (late !== null) return late;
  const { innerInclusionStroops, operationCount, resourceFeeStroops, maxFeeStroops } = content;
  const bid = priceAttempt({
    policies: drafting.policies,
    maxFeeStroops,
    resourceFeeStroops,
    operationCount: operationCount + 1,
    leastStroops: leastOutbiddingStroops(drafting.outbids, innerInclusionStroops, operationCount),
    bidPerOperationStroops: await drafting.market.bidPerOperationStroops(resourceFeeStroops > 0n),
    isFiller: false,
  });
  if ('refused' in bid) return bid;
  return {
    network: 'stellar',
    inner: { kind: 'signed', envelope: content.envelope },
    bumpFeeStroops: bid.feeStroops,
    bid,
    sourceAccount: content.sourceAccount,
    sequence: content.sequence,
    maxTimeS: content.maxTimeS,
    ledger: drafting.payer.ledger,
    costStroops: bid.feeStroops,
  };
}

/** Why a foreign envelope cannot land, now or ever; null: it can. */
async function whyNeverDue(
  { rpc, networkName }: DraftDeps,
  { sourceAccount, sequence, maxTimeS }: StellarFeeBumpContent,
): Promise<Refusal | null> {
  if (maxTimeS !== null && maxTimeS * 1000n <= BigInt(Date.now())) {
    return { refused: 'reverts', sentence: 'the time bounds of transaction_xdr have passed', lasting: true };
  }
  const address = accountOf(sourceAccount) ?? '';
  const account = await readAccount(rpc, address);
  if (account === null) return noAccount(address, networkName);
  if (account.sequence >= sequence) {
    const sentence = `sequence number ${sequence} of ${address} is used already: its account is at ${account.sequence}`;
    return { refused: 'reverts', sentence, lasting: true };
  }
  if (account.sequence + 1n === sequence) return null;
  const sentence = `sequence number ${sequence} of ${address} is not due yet: its account is at ${account.sequence}`;
  return { refused: 'reverts', sentence, lasting: false };
}
