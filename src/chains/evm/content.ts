import { invalidField } from '../../core/errors.js';
import type { EvmNetwork } from '../../core/relayer/network.js';
import type { EvmContent, EvmPricing, EvmRequest, Speed } from '../../core/transaction/evm.js';
import { readAddress } from './address.js';
import { intrinsicGas } from './gas.js';

const maxAmount = 2n ** 128n - 1n;
const maxGasLimit = 2n ** 63n - 1n;
/** Nodes reject transactions over 128 KiB; this leaves room for the other fields. A transaction that no node accepts would block its slot. */
const maxDataBytes = 128 * 1024 - 512;

/**
 * Reads a caller's request. Calls no node. A replacement without a price uses `earlierSpeed`, or `fast` if that is null.
 * Throws `DomainError` (400) naming the field.
 */
export function contentFromRequest(request: EvmRequest, earlierSpeed: Speed | null, network: EvmNetwork): EvmContent {
  const to = readTo(request.to);
  const data = readData(request.data);
  if (to === null && (data === null || data === '0x')) throw invalidField('to', 'is required if data is empty');
  const valueWei = readAmount('value', request.valueWei);
  if (valueWei === undefined) throw invalidField('value', 'is required');
  return {
    network: 'evm',
    to,
    valueWei,
    data,
    gasLimit: readGasLimit(request.gasLimit, intrinsicGas(to === null, data)),
    pricing: readPricing(request, earlierSpeed, network),
  };
}

function readTo(text: string | undefined): string | null {
  if (text === undefined) return null;
  const read = readAddress(text);
  if ('problem' in read) throw invalidField('to', read.problem);
  return read.address;
}

function readData(text: string | undefined): string | null {
  if (text === undefined) return null;
  const digits = text.startsWith('0x') ? text.slice(2) : text;
  if (digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) throw invalidField('data', 'must be an even number of hex digits');
  if (digits.length > maxDataBytes * 2) throw invalidField('data', `must be at most ${maxDataBytes} bytes, the limit of EVM nodes`);
  return `0x${digits.toLowerCase()}`;
}

function readAmount(field: string, wei: bigint | undefined): bigint | undefined {
  if (wei !== undefined && (wei < 0n || wei > maxAmount)) throw invalidField(field, 'must be from 0 to 2^128-1');
  return wei;
}

function readGasLimit(gasLimit: bigint | undefined, minGas: bigint): bigint | null {
  if (gasLimit === undefined) return null;
  if (gasLimit > maxGasLimit) throw invalidField('gas_limit', 'must be at most 2^63-1');
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
