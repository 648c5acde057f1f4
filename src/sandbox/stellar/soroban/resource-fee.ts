import type { xdr } from '@stellar/stellar-sdk';

/** Prices of resources, near those of the public network; the formula is that of CAP-46-07. */
const price = { per10kInstructions: 25n, perEntryRead: 1_563n, perEntryWritten: 2_500n, perKiBWritten: 875n, perKiBSent: 1_624n };

/** The refundable part of the resource fee, for rent and events; a call pays only the used part. */
export function refundableStroops(writtenBytes: number): bigint {
  return 500n + 20n * BigInt(writtenBytes);
}

/** Limits of one transaction (`SorobanNetworkConfig`, figures near those of the public network). */
export const limits = {
  instructions: 100_000_000,
  footprintEntries: 100,
  writtenEntries: 50,
  bytes: 132_096,
  keyBytes: 250,
  stroops: 1n << 50n,
};

/**
 * Returns the minimum fee for these resources in stroops (`computePreApplySorobanResourceFee`): it is charged even if the call fails, and
 * grows with the envelope's size.
 */
export function nonRefundableStroops(resources: xdr.SorobanResources, sizeBytes: number): bigint {
  const { readOnly, readWrite } = {
    readOnly: resources.footprint.readOnly.length,
    readWrite: resources.footprint.readWrite.length,
  };
  return (
    ceilDivide(BigInt(resources.instructions) * price.per10kInstructions, 10_000n) +
    BigInt(readOnly + readWrite) * price.perEntryRead +
    BigInt(readWrite) * price.perEntryWritten +
    ceilDivide(BigInt(resources.writeBytes) * price.perKiBWritten, 1024n) +
    ceilDivide(BigInt(sizeBytes) * price.perKiBSent, 1024n)
  );
}

function ceilDivide(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by;
}
