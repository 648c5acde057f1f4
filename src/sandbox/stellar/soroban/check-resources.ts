import type { xdr } from '@stellar/stellar-sdk';
import type { Frame } from '../frame.js';
import { limits, nonRefundableStroops } from './resource-fee.js';

/**
 * True if the declared resources, footprint and resource fee of a Soroban transaction are valid (`commonValidPreSeqNum` and
 * `checkSorobanResources`, TransactionFrame.cpp).
 */
export function declaresValidResources(frame: Frame): boolean {
  const { soroban } = frame;
  if (soroban === null) return false;
  const resources = soroban.resources;
  const written = resources.footprint.readWrite;
  const keys = [...resources.footprint.readOnly, ...written];
  const isWithinLimits =
    resources.instructions <= limits.instructions &&
    resources.writeBytes <= limits.bytes &&
    resources.diskReadBytes <= limits.bytes &&
    keys.length <= limits.footprintEntries &&
    written.length <= limits.writtenEntries &&
    frame.sizeBytes <= limits.bytes;
  return (
    isWithinLimits &&
    keys.every(mayBeInFootprint) &&
    // Every key is unique over both lists.
    new Set(keys.map((key) => key.toXdr('base64'))).size === keys.length &&
    soroban.resourceFee <= frame.fullFeeStroops &&
    soroban.resourceFee >= nonRefundableStroops(resources, frame.sizeBytes)
  );
}

const footprintKinds: ReadonlySet<string> = new Set(['account', 'trustline', 'contractData', 'contractCode']);

function mayBeInFootprint(key: xdr.LedgerKey): boolean {
  return footprintKinds.has(key.type) && key.toXdr().length <= limits.keyBytes;
}
