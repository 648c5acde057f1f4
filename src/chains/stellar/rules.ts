import { Address, Asset, StrKey, type xdr } from '@stellar/stellar-sdk';
import { max } from '../../core/records/bigints.js';
import type { Judged, Judgement } from '../../core/records/judgement.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { Relayer } from '../../core/records/relayer.js';
import type { CostBound } from '../../core/records/spending-rule.js';
import type { StellarContent } from '../../core/records/stellar.js';
import { fillerBound } from '../../core/rules/cost-bound.js';
import { matchIf } from '../../core/rules/deciding-rule.js';
import {
  type Canonical,
  costBoundOfParts,
  judgeParts,
  mayBeBound,
  nativeOf,
  type PaidAmount,
  type RuledTransaction,
  type RulePart,
} from '../../core/rules/judge-parts.js';
import { countedFunction, ruleShapes } from '../../core/rules/part-rule-problems.js';
import { nameOf, operationsOf } from './account-changes.js';
import { accountOf, addressFromPublicKey } from './address.js';
import { feeToFree, leastBaseFeeStroops, minBumpStroops, usualRules } from './fee-rules.js';
import { nativeOutflowOf, paymentBy } from './outflow.js';
import { receiversBy } from './receivers.js';

/*
 * Reads content for the rules of its relayer. An asset is the contract that the network has for it, which names it in every form: an amount
 * counts alike whether an operation or the contract pays it. Whose account pays is the same to rules: the relayer's key signs for it.
 */

/** Returns the form of addresses and assets on a network: an account without the ID of a muxed address, and an asset's contract. */
function canonicalOn(passphrase: string): Canonical {
  return (text) => {
    if (text === 'native') return Asset.native().contractId(passphrase);
    const [code = '', issuer] = text.split(':');
    // What has a wrong checksum names nothing.
    if (issuer !== undefined) return StrKey.isValidEd25519PublicKey(issuer) ? new Asset(code, issuer).contractId(passphrase) : text;
    return accountOf(text) ?? text;
  };
}

/** Returns what the relayer's rules say about content; null: it has none. */
export function judge(content: StellarContent, { network, policies }: Judging, asker: Judged): Judgement | null {
  const { rules } = onNetwork('stellar', policies);
  if (rules === null) return null;
  if (network.type !== 'stellar') throw new Error(`expected a Stellar network, got ${network.name}`);
  const canonical = canonicalOn(network.passphrase);
  return judgeParts(rules, transactionOf(content, canonical), asker, canonical);
}

/** What a rule lets an attempt cost. */
export interface Costs {
  /** Null: any amount. */
  readonly bound: CostBound | null;
  /** What it pays of the native asset, as far as that shows. */
  readonly valueStroops: bigint;
}

/** Nothing bounds what an attempt costs. */
export const unbounded: Costs = { bound: null, valueStroops: 0n };

/** Returns what accepted content may cost: see `costBoundOfParts`. `approvals`: see `Chain.whyForbidden`. */
export function costsOf(content: StellarContent, { network, policies }: Judging, approvals: number): Costs {
  const { rules } = onNetwork('stellar', policies);
  if (network.type !== 'stellar') throw new Error(`expected a Stellar network, got ${network.name}`);
  if (!mayBeBound(rules, content.maxCost)) return unbounded;
  const canonical = canonicalOn(network.passphrase);
  const sent = transactionOf(content, canonical);
  const judged = { stored: content.maxCost, asker: approvals > 0 ? ('approved' as const) : null };
  return { bound: costBoundOfParts(rules, sent, judged, canonical), valueStroops: nativeOf(sent) };
}

/** Returns what may be paid for what takes the slot of content, beside what the content pays: see `fillerBound`. */
export function fillerCosts(content: StellarContent, { network, policies }: Judging): Costs {
  const now = onNetwork('stellar', policies).rules?.find(({ id }) => id === content.maxCost?.ruleId)?.maxCost ?? null;
  return { ...costsOf(content, { network, policies }, 0), bound: fillerBound(content.maxCost, now) };
}

/** A fee bump pays for its envelope as another operation; what takes the slot of an attempt must bid ten times as much. */
function transactionOf(content: StellarContent, canonical: Canonical): RuledTransaction {
  const parts = partsOf(content, canonical);
  if (content.kind === 'fee_bump') {
    const { innerInclusionStroops, operationCount, resourceFeeStroops } = content;
    return { parts, leastFee: minBumpStroops(innerInclusionStroops, operationCount, leastBaseFeeStroops) + resourceFeeStroops };
  }
  const inclusionStroops = leastBaseFeeStroops * BigInt(content.operations.length);
  return { parts, leastFee: max(inclusionStroops, feeToFree(inclusionStroops, content.operations.length)) };
}

/** What a judgement needs of a relayer. */
type Judging = Pick<Relayer, 'network' | 'policies'>;

/** Another account numbered and signed the envelope of a fee bump: what it does there is not the relayer's, which pays its fee alone. */
const foreign: RulePart = {
  ...{ field: 'transaction_xdr', kind: null, isCall: () => 'unknown', receivers: [], mayPay: null, isTrade: false, paid: null, gets: [] },
  ...{ native: 0n, isNativeKnown: true },
};

function partsOf(content: StellarContent, canonical: Canonical): readonly RulePart[] {
  if (content.kind === 'fee_bump') return [foreign];
  return operationsOf(content.operations).map((operation, index): RulePart => {
    const { body } = operation;
    const call = callBy(body);
    const paid = call === null ? paidBy(operation) : call.paid;
    const received = receivedBy(body);
    const receivers = [...receiversBy(body), ...claimantsIn(body), ...(call?.receivers ?? [])].map(canonical);
    const amounts = paid?.map((one) => ({ ...one, asset: canonical(one.name) })) ?? null;
    const native = canonical('native');
    return {
      field: `operations[${index}]`,
      kind: typeOf(operation),
      isCall: (name) => matchIf(call?.name === name),
      receivers: [...new Set(receivers)],
      // The makers of offers, and whom the code of a contract pays, do not show.
      mayPay: paid === null || received !== null || paid.some(({ mustBeNamed }) => mustBeNamed) ? null : [],
      isTrade: received !== null,
      paid: amounts,
      // A contract that is not the asset's own may be one that pays more.
      native: amounts?.reduce((sum, { asset, amount }) => (asset === native ? sum + amount : sum), 0n) ?? nativeOutflowOf(body),
      isNativeKnown: amounts?.every(({ asset, mustBeNamed }) => !mustBeNamed || asset === native) === true,
      gets: received === null ? [] : [canonical(nameOfAsset(received))],
    };
  });
}

/** Returns the type of an operation as rules name it. */
function typeOf(operation: xdr.Operation): string {
  const { body } = operation;
  if (body.type !== 'invokeHostFunction') return nameOf(operation);
  const { hostFunction } = body.invokeHostFunctionOp;
  if (hostFunction.type === 'hostFunctionTypeInvokeContract') return 'invoke_contract';
  return hostFunction.type === 'hostFunctionTypeUploadContractWasm' ? 'upload_wasm' : 'create_contract';
}

type NamedAmount = Omit<PaidAmount, 'asset'>;

const nativePaid = (amount: bigint): NamedAmount => ({ name: 'native', amount, mustBeNamed: false });

/** Null: what it pays, or locks, does not show, or depends on others. */
function paidBy(operation: xdr.Operation): readonly NamedAmount[] | null {
  const { body } = operation;
  const payment = paymentBy(body);
  if (payment === null) return ruleShapes.stellar.silent.includes(typeOf(operation)) ? [] : null;
  const paid = { ...nativePaid(payment.amount), name: nameOfAsset(payment.asset) };
  if (body.type !== 'createClaimableBalance') return [paid];
  // The source locks the reserve of an entry for each claimant, until one of them claims the balance.
  const reserve = usualRules.baseReserveStroops * BigInt(body.createClaimableBalanceOp.claimants.length);
  return paid.name === 'native' ? [nativePaid(paid.amount + reserve)] : [paid, nativePaid(reserve)];
}

function nameOfAsset(asset: xdr.Asset): string {
  return Asset.fromOperation(asset).toString();
}

/** What the receiver of a path payment gets; null: it is none. */
function receivedBy(body: xdr.OperationBody): xdr.Asset | null {
  if (body.type === 'pathPaymentStrictReceive') return body.pathPaymentStrictReceiveOp.destAsset;
  return body.type === 'pathPaymentStrictSend' ? body.pathPaymentStrictSendOp.destAsset : null;
}

function claimantsIn(body: xdr.OperationBody): readonly string[] {
  if (body.type !== 'createClaimableBalance') return [];
  return body.createClaimableBalanceOp.claimants.map(({ v0 }) => addressFromPublicKey(v0.destination.ed25519.value));
}

interface Call {
  readonly name: string;
  /** Who gets what it pays, beside the contract. */
  readonly receivers: readonly string[];
  readonly paid: readonly NamedAmount[] | null;
}

/**
 * Reads the call of a contract; null: it is none. Only the function `transfer(from, to, amount)` of a token has an amount, and only if no
 * authorization that the caller gives covers a call of another contract.
 */
function callBy(body: xdr.OperationBody): Call | null {
  if (body.type !== 'invokeHostFunction') return null;
  const { hostFunction, auth } = body.invokeHostFunctionOp;
  if (hostFunction.type !== 'hostFunctionTypeInvokeContract') return null;
  const { contractAddress, functionName, args } = hostFunction.invokeContract;
  const name = String(functionName);
  const [from, to, amount] = args;
  const unread: Call = { name, receivers: [], paid: null };
  if (name !== countedFunction || args.length !== 3 || from?.type !== 'scvAddress' || to?.type !== 'scvAddress') return unread;
  const receivers = [Address.fromScVal(to).toString()];
  if (amount?.type !== 'scvI128') return { ...unread, receivers };
  const { hi, lo } = amount.i128;
  const value = (hi << 64n) + lo;
  const call = hostFunction.invokeContract.toXdr('base64');
  const isPlain = auth.every(({ rootInvocation }) => isCallAlone(rootInvocation, call));
  if (!isPlain || value < 0n) return { ...unread, receivers };
  return { name, receivers, paid: [{ name: Address.fromScAddress(contractAddress).toString(), amount: value, mustBeNamed: true }] };
}

/** True if an authorization covers this call, in base64 XDR, and none that it makes. */
function isCallAlone({ function: authorized, subInvocations }: xdr.SorobanAuthorizedInvocation, call: string): boolean {
  if (authorized.type !== 'sorobanAuthorizedFunctionTypeContractFn' || subInvocations.length > 0) return false;
  return authorized.contractFn.toXdr('base64') === call;
}
