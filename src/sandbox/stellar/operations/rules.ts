import type { xdr } from '@stellar/stellar-sdk';
import { accountMerge } from './account-merge.js';
import { bumpSequence } from './bump-sequence.js';
import { changeTrust } from './change-trust.js';
import { claimClaimableBalance, clawbackClaimableBalance, createClaimableBalance } from './claimable-balances.js';
import { createAccount } from './create-account.js';
import { extendFootprintTtl, restoreFootprint } from './footprint.js';
import { inflation } from './inflation.js';
import { invokeHostFunction } from './invoke-host-function.js';
import { liquidityPoolDeposit, liquidityPoolWithdraw } from './liquidity-pools.js';
import { manageData } from './manage-data.js';
import { createPassiveSellOffer, manageBuyOffer, manageSellOffer } from './manage-offers.js';
import type { OperationRules } from './operation.js';
import { pathPaymentStrictReceive, pathPaymentStrictSend } from './path-payments.js';
import { payment } from './payment.js';
import { setOptions } from './set-options.js';
import { beginSponsoringFutureReserves, endSponsoringFutureReserves, revokeSponsorship } from './sponsorship.js';
import { allowTrust, clawback, setTrustLineFlags } from './trust-flags.js';

const rules: Readonly<Record<string, OperationRules>> = {
  accountMerge,
  allowTrust,
  beginSponsoringFutureReserves,
  bumpSequence,
  changeTrust,
  claimClaimableBalance,
  clawback,
  clawbackClaimableBalance,
  createClaimableBalance,
  endSponsoringFutureReserves,
  extendFootprintTtl,
  inflation,
  createPassiveSellOffer,
  liquidityPoolDeposit,
  liquidityPoolWithdraw,
  manageBuyOffer,
  manageData,
  manageSellOffer,
  pathPaymentStrictReceive,
  pathPaymentStrictSend,
  restoreFootprint,
  revokeSponsorship,
  setTrustLineFlags,
  createAccount,
  invokeHostFunction,
  payment,
  setOptions,
};

/** Returns the rules of an operation's kind; undefined if it is not modelled (opNOT_SUPPORTED). */
export function rulesOf(operation: xdr.Operation): OperationRules | undefined {
  return rules[operation.body.type];
}
