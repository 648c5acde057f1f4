import { Asset, hash, StrKey, xdr } from '@stellar/stellar-sdk';
import { type Account, accountFlag, lineFlag, trustlineKey } from '../state.js';
import { addHolding } from './holdings.js';
import { done, failed, type OperationContext, type OperationRules } from './operation.js';
import { type Reserved, release, reserve, sponsorOf } from './reserves.js';

const { CreateClaimableBalanceResult: Created, ClaimClaimableBalanceResult: Claimed, ClawbackClaimableBalanceResult: Taken } = xdr;
const createdOf = (result: xdr.CreateClaimableBalanceResult) => xdr.OperationResultTr.createClaimableBalance(result);
const claimedOf = (result: xdr.ClaimClaimableBalanceResult) => xdr.OperationResultTr.claimClaimableBalance(result);
const takenOf = (result: xdr.ClawbackClaimableBalanceResult) => xdr.OperationResultTr.clawbackClaimableBalance(result);
const maxDepth = 4;

/** CreateClaimableBalanceOpFrame.cpp: the source pays the amount, and a reserve for each claimant as the balance's sponsor. */
export const createClaimableBalance: OperationRules = {
  level: 'medium',

  check(body) {
    const { amount, claimants } = xdr.expectUnionVariant(body, 'createClaimableBalance').createClaimableBalanceOp;
    const receivers = new Set(claimants.map((claimant) => addressOf(claimant.v0.destination)));
    const isValid =
      amount > 0n &&
      claimants.length > 0 &&
      receivers.size === claimants.length &&
      claimants.every((claimant) => isPredicate(claimant.v0.predicate, 1));
    return isValid ? null : failed(createdOf(Created.createClaimableBalanceMalformed()));
  },

  apply(body, context) {
    const { asset, amount, claimants } = xdr.expectUnionVariant(body, 'createClaimableBalance').createClaimableBalanceOp;
    const { state, header, source } = context;
    const wrong = addHolding(context, source, asset, -amount);
    if (wrong === 'missing') return failed(createdOf(Created.createClaimableBalanceNoTrust()));
    if (wrong === 'not authorized') return failed(createdOf(Created.createClaimableBalanceNotAuthorized()));
    if (wrong !== null) return failed(createdOf(Created.createClaimableBalanceUnderfunded()));
    const account = accountOf(context);
    const id = xdr.ClaimableBalanceId.claimableBalanceIdTypeV0(context.operationId());
    if (!reserve(context, entryOf(id, claimants.length), sponsorOf(context, source) ?? source))
      return failed(createdOf(Created.createClaimableBalanceLowReserve()));
    state.balances.set(id.toXdr('hex'), {
      id,
      asset,
      amount,
      claimants: claimants.map(({ v0: { destination, predicate } }) => ({
        account: addressOf(destination),
        predicate: absolute(predicate, header.closeTimeSeconds),
      })),
      canBeClawedBack: canBeClawedBack(asset, account, context),
      modifiedAt: header.sequence,
    });
    return done(createdOf(Created.createClaimableBalanceSuccess(id)));
  },
};

/** ClaimClaimableBalanceOpFrame.cpp. */
export const claimClaimableBalance: OperationRules = {
  level: 'low',
  check: () => null,

  apply(body, context) {
    const { balanceId } = xdr.expectUnionVariant(body, 'claimClaimableBalance').claimClaimableBalanceOp;
    const { state, header, source } = context;
    const balance = state.balances.get(balanceId.toXdr('hex'));
    if (balance === undefined) return failed(claimedOf(Claimed.claimClaimableBalanceDoesNotExist()));
    const claimant = balance.claimants.find(({ account }) => account === source);
    if (claimant === undefined || !holds(claimant.predicate, header.closeTimeSeconds))
      return failed(claimedOf(Claimed.claimClaimableBalanceCannotClaim()));
    const wrong = addHolding(context, source, balance.asset, balance.amount);
    if (wrong === 'missing') return failed(claimedOf(Claimed.claimClaimableBalanceNoTrust()));
    if (wrong === 'not authorized') return failed(claimedOf(Claimed.claimClaimableBalanceNotAuthorized()));
    if (wrong !== null) return failed(claimedOf(Claimed.claimClaimableBalanceLineFull()));
    end(context, balanceId);
    return done(claimedOf(Claimed.claimClaimableBalanceSuccess()));
  },
};

/** ClawbackClaimableBalanceOpFrame.cpp. */
export const clawbackClaimableBalance: OperationRules = {
  level: 'medium',
  check: () => null,

  apply(body, context) {
    const { balanceId } = xdr.expectUnionVariant(body, 'clawbackClaimableBalance').clawbackClaimableBalanceOp;
    const balance = context.state.balances.get(balanceId.toXdr('hex'));
    if (balance === undefined) return failed(takenOf(Taken.clawbackClaimableBalanceDoesNotExist()));
    const asset = Asset.fromOperation(balance.asset);
    if (asset.isNative() || asset.getIssuer() !== context.source) return failed(takenOf(Taken.clawbackClaimableBalanceNotIssuer()));
    if (!balance.canBeClawedBack) return failed(takenOf(Taken.clawbackClaimableBalanceNotClawbackEnabled()));
    end(context, balanceId);
    return done(takenOf(Taken.clawbackClaimableBalanceSuccess()));
  },
};

function entryOf(id: xdr.ClaimableBalanceId, claimants: number): Reserved {
  return { name: `balance ${id.toXdr('hex')}`, owner: null, count: claimants };
}

/** Removes a balance and gives its sponsor the reserve back. */
function end(context: OperationContext, balanceId: xdr.ClaimableBalanceId): void {
  const { balances } = context.state;
  const key = balanceId.toXdr('hex');
  release(context, entryOf(balanceId, balances.get(key)?.claimants.length ?? 0));
  balances.delete(key);
}

function canBeClawedBack(asset: xdr.Asset, account: Account, { state }: OperationContext): boolean {
  if (asset.type === 'assetTypeNative') return false;
  if (Asset.fromOperation(asset).getIssuer() === account.id) return (account.flags & accountFlag.clawbackEnabled) !== 0;
  return ((state.trustlines.get(trustlineKey(account.id, asset))?.flags ?? 0) & lineFlag.clawbackEnabled) !== 0;
}

/** `validatePredicate`. */
function isPredicate(predicate: xdr.ClaimPredicate, depth: number): boolean {
  if (depth > maxDepth) return false;
  switch (predicate.type) {
    case 'claimPredicateUnconditional':
      return true;
    case 'claimPredicateAnd':
      return predicate.andPredicates.length === 2 && predicate.andPredicates.every((one) => isPredicate(one, depth + 1));
    case 'claimPredicateOr':
      return predicate.orPredicates.length === 2 && predicate.orPredicates.every((one) => isPredicate(one, depth + 1));
    case 'claimPredicateNot':
      return predicate.notPredicate !== null && isPredicate(predicate.notPredicate, depth + 1);
    case 'claimPredicateBeforeAbsoluteTime':
      return predicate.absBefore >= 0n;
    case 'claimPredicateBeforeRelativeTime':
      return predicate.relBefore >= 0n;
  }
}

/** `updatePredicatesForApply`: relative times count from the ledger that makes the balance. */
function absolute(predicate: xdr.ClaimPredicate, now: bigint): xdr.ClaimPredicate {
  switch (predicate.type) {
    case 'claimPredicateAnd':
      return xdr.ClaimPredicate.claimPredicateAnd(predicate.andPredicates.map((one) => absolute(one, now)));
    case 'claimPredicateOr':
      return xdr.ClaimPredicate.claimPredicateOr(predicate.orPredicates.map((one) => absolute(one, now)));
    case 'claimPredicateNot':
      return xdr.ClaimPredicate.claimPredicateNot(predicate.notPredicate === null ? null : absolute(predicate.notPredicate, now));
    case 'claimPredicateBeforeRelativeTime': {
      const end = now + predicate.relBefore;
      return xdr.ClaimPredicate.claimPredicateBeforeAbsoluteTime(end < 2n ** 63n ? end : 2n ** 63n - 1n);
    }
    default:
      return predicate;
  }
}

function holds(predicate: xdr.ClaimPredicate, now: bigint): boolean {
  switch (predicate.type) {
    case 'claimPredicateUnconditional':
      return true;
    case 'claimPredicateAnd':
      return predicate.andPredicates.every((one) => holds(one, now));
    case 'claimPredicateOr':
      return predicate.orPredicates.some((one) => holds(one, now));
    case 'claimPredicateNot':
      return predicate.notPredicate === null || !holds(predicate.notPredicate, now);
    case 'claimPredicateBeforeAbsoluteTime':
      return now < predicate.absBefore;
    case 'claimPredicateBeforeRelativeTime':
      throw new Error('stored predicates have no relative times');
  }
}

function accountOf({ state, source }: OperationContext): Account {
  const account = state.accounts.get(source);
  if (account === undefined) throw new Error('the source was there');
  return account;
}

function addressOf(account: xdr.AccountId): string {
  return StrKey.encodeEd25519PublicKey(account.ed25519.value);
}

/** The id of what an operation makes (`getOperationID`): the hash of the transaction's source and number, and its position. */
export function operationIdOf(source: string, seqNum: bigint, opNum: number): Uint8Array {
  const sourceAccount = xdr.PublicKey.publicKeyTypeEd25519(StrKey.decodeEd25519PublicKey(source));
  return hash(xdr.HashIdPreimage.envelopeTypeOpId(new xdr.HashIdPreimageOperationId({ sourceAccount, seqNum, opNum })).toXdr());
}
