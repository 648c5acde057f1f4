import assert from 'node:assert/strict';
import type { xdr } from '@stellar/stellar-sdk';
import type { OperationContext } from '../../src/sandbox/stellar/operations/operation.js';
import { rulesOf } from '../../src/sandbox/stellar/operations/rules.js';
import type { Header, LedgerState } from '../../src/sandbox/stellar/state.js';

/** The header of the ledger in which `runOperation` applies operations. */
export const header: Header = { sequence: 10, closeTimeSeconds: 1n, baseFeeStroops: 100n, baseReserveStroops: 5_000_000n };

/** Checks and applies an operation of the local Stellar ledger. Returns the code of its result as the SDK names it. */
export function runOperation(state: LedgerState, source: string, operation: xdr.Operation): string {
  const rules = rulesOf(operation);
  assert.ok(rules !== undefined);
  const context: OperationContext = {
    state,
    header,
    source,
    networkId: Buffer.alloc(32),
    operationId: () => Buffer.alloc(32),
    soroban: null,
  };
  const { isSuccess, result } = rules.check(operation.body, source) ?? rules.apply(operation.body, context);
  const code = result.type === 'opInner' ? result.tr.value.type : result.type;
  assert.equal(isSuccess, code.endsWith('Success'));
  return code;
}
