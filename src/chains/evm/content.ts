import { DomainError, invalidField } from '../../core/errors/errors.js';
import { type IsRefused, nothingRefused, readAll } from '../../core/errors/read-all.js';
import { forbiddenBecause, forbiddenByRules, type Refusal } from '../../core/ports/chain/drafts.js';
import type { RequestContext } from '../../core/ports/chain/requests.js';
import type { EvmContent, EvmPricing, EvmRequest, Speed } from '../../core/records/evm.js';
import type { EvmNetwork } from '../../core/records/network.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { EvmPolicies, Relayer } from '../../core/records/relayer.js';
import { checkText, syntaxes } from '../../core/text/text-syntax.js';
import { requireEvmPolicy, whyReceiverForbidden } from '../../core/transaction/evm-policy.js';
import { readValidUntil } from '../../core/transaction/valid-until.js';
import { readAddress } from './address.js';
import { callDataOf } from './call-data.js';
import { intrinsicGas } from './intrinsic-gas.js';
import { judge } from './rules.js';

const maxAmount = 2n ** 128n - 1n;
const maxGasLimit = 2n ** 63n - 1n;
/**
 * Nodes reject transactions over 128 KiB; this leaves room for the other fields. A transaction that no node accepts would block its slot.
 */
export const maxDataBytes = 128 * 1024 - 512;

/** The context that a request is checked against. */
export interface ContentContext extends Pick<RequestContext, 'nowMs'> {
  readonly relayer: Pick<Relayer, 'address'>;
  readonly policies: EvmPolicies;
  readonly network: EvmNetwork;
  /** The speed of a replacement without a price; null: `fast`. */
  readonly earlierSpeed: Speed | null;
  /** See `RequestContext`. */
  readonly isRefused?: IsRefused | undefined;
}

/**
 * Reads a caller's request and checks it against the relayer's policies. Calls no node. Throws `DomainError` (400) naming every field that
 * is wrong.
 */
export function contentFromRequest(
  request: EvmRequest,
  { relayer, policies, network, earlierSpeed, nowMs, isRefused = nothingRefused }: ContentContext,
): { readonly content: EvmContent; readonly validUntilMs: number | null } {
  const allowed = <T extends Parameters<typeof requireEvmPolicy>[2]>(part: T): T => {
    requireEvmPolicy(relayer, policies, part);
    return part;
  };
  const called = readCall(request);
  const data = () => (called === null ? readData(request.data) : orThrow(called).data);
  const read = readAll({
    receiver: () => allowed({ to: readReceiver(request, isRefused) }),
    valueWei: () => requireValue(request.valueWei),
    data,
    gas: () => allowed({ gasLimit: readGasLimit(request, called, isRefused) }),
    price: () => allowed({ pricing: readPricing(request, earlierSpeed, network) }),
    validUntilMs: () => readValidUntil(request.validUntilMs, nowMs),
  });
  const { receiver, gas, price, valueWei } = read;
  const content: EvmContent = {
    network: 'evm',
    to: receiver.to,
    valueWei,
    data: read.data,
    gasLimit: gas.gasLimit,
    pricing: price.pricing,
  };
  return { content: called === null ? content : { ...content, call: orThrow(called).call }, validUntilMs: read.validUntilMs };
}

/** See `Chain.whyForbidden`. */
export function whyForbidden(content: EvmContent, relayer: Relayer, approvals: number): Refusal | null {
  const policies = onNetwork('evm', relayer.policies);
  const problem = whyReceiverForbidden(relayer, policies, content.to);
  if (problem !== null) return forbiddenBecause(`to ${problem}`);
  const judgement = policies.rules === null ? null : judge(policies.rules, content, approvals > 0 ? 'approved' : null);
  return forbiddenByRules(judgement, approvals);
}

/** See `Chain.receiversOf`. */
export function receiversOf({ to }: EvmContent): readonly string[] {
  return to === null ? [] : [to];
}

type Called = ReturnType<typeof callDataOf>;

/** Encodes the request's call, once for all that need it; null: the request has none. */
function readCall({ call, data }: EvmRequest): Called | DomainError | null {
  if (call === undefined) return null;
  if (data !== undefined) return invalidField('call', 'cannot be combined with data');
  try {
    return callDataOf(call, maxDataBytes);
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

function orThrow(called: Called | DomainError): Called {
  if (called instanceof DomainError) throw called;
  return called;
}

/** A transaction without a receiver creates a contract, so it needs code. */
function readReceiver({ to, data, call }: EvmRequest, isRefused: IsRefused): string | null {
  const read = readTo(to);
  if (read === null && call !== undefined) throw invalidField('to', 'is required with call');
  const hasCode = (data !== undefined && data !== '' && data !== '0x') || isRefused('data');
  if (read === null && !hasCode) throw invalidField('to', 'is required if data is empty');
  return read;
}

function requireValue(wei: bigint | undefined): bigint {
  if (wei === undefined) throw invalidField('value', 'is required');
  return readAmount('value', wei);
}

function readTo(text: string | undefined): string | null {
  if (text === undefined) return null;
  const read = readAddress(text);
  if ('problem' in read) throw invalidField('to', read.problem);
  return read.address;
}

function readData(text: string | undefined): string | null {
  if (text === undefined) return null;
  checkText('data', text, syntaxes.hex_data);
  const digits = digitsOf(text);
  if (digits.length > maxDataBytes * 2) throw invalidField('data', `must be at most ${maxDataBytes} bytes, the limit of EVM nodes`);
  return `0x${digits.toLowerCase()}`;
}

function digitsOf(data: string): string {
  return data.startsWith('0x') ? data.slice(2) : data;
}

function readAmount<T extends bigint | undefined>(field: string, wei: T): T {
  if (wei !== undefined && (wei < 0n || wei > maxAmount)) throw invalidField(field, 'must be from 0 to 2^128-1');
  return wei;
}

function readGasLimit({ gasLimit, to, data }: EvmRequest, called: Called | DomainError | null, isRefused: IsRefused): bigint | null {
  if (gasLimit === undefined) return null;
  if (gasLimit > maxGasLimit) throw invalidField('gas_limit', 'must be at most 2^63-1');
  const isCreation = to === undefined && !isRefused('to');
  const encoded = called !== null && 'data' in called ? called.data : null;
  const minGas = intrinsicGas(isCreation, data === undefined ? encoded : `0x${digitsOf(data)}`);
  if (gasLimit < minGas) throw invalidField('gas_limit', `must be at least ${minGas}, the intrinsic gas of the transaction`);
  return gasLimit;
}

function readPricing(request: EvmRequest, earlierSpeed: Speed | null, network: EvmNetwork): EvmPricing {
  const gasPriceWei = readAmount('gas_price', request.gasPriceWei);
  const maxFeePerGasWei = readAmount('max_fee_per_gas', request.maxFeePerGasWei);
  const maxPriorityFeePerGasWei = readAmount('max_priority_fee_per_gas', request.maxPriorityFeePerGasWei);
  const { speed } = request;
  const feeField =
    maxFeePerGasWei !== undefined ? 'max_fee_per_gas' : maxPriorityFeePerGasWei !== undefined ? 'max_priority_fee_per_gas' : undefined;

  if (gasPriceWei !== undefined && speed !== undefined) throw conflict('gas_price', 'speed');
  if (gasPriceWei !== undefined && feeField !== undefined) throw conflict('gas_price', feeField);
  if (speed !== undefined && feeField !== undefined) throw conflict('speed', feeField);

  if (gasPriceWei !== undefined) return { kind: 'legacy', gasPriceWei };
  if (feeField === undefined) return { kind: 'speed', speed: speed ?? earlierSpeed ?? 'fast' };
  if (maxFeePerGasWei === undefined) throw invalidField('max_fee_per_gas', 'is required with max_priority_fee_per_gas');
  if (maxPriorityFeePerGasWei === undefined) throw invalidField('max_priority_fee_per_gas', 'is required with max_fee_per_gas');
  if (maxPriorityFeePerGasWei > maxFeePerGasWei) throw invalidField('max_priority_fee_per_gas', 'must be at most max_fee_per_gas');
  if (!network.eip1559) {
    throw invalidField(
      'max_fee_per_gas',
      `is not supported on ${network.name}, which has no EIP-1559 transactions; use gas_price or speed`,
    );
  }
  return { kind: 'eip1559', maxFeePerGasWei, maxPriorityFeePerGasWei };
}

function conflict(field: string, other: string): Error {
  return invalidField(field, `cannot be combined with ${other}; set gas_price, or speed, or max_fee_per_gas with max_priority_fee_per_gas`);
}
