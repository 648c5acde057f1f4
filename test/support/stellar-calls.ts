import { Asset, nativeToScVal, Operation, xdr } from '@stellar/stellar-sdk';
import type { StellarRequest } from '../../src/core/records/stellar.js';
import type { StellarLedger } from '../../src/sandbox/stellar/ledger.js';
import { simulateTransaction } from '../../src/sandbox/stellar/rpc/simulate.js';
import { viewOf } from '../../src/sandbox/stellar/rpc/view.js';
import type { StellarRig } from './engine-rig.js';
import type { BuildOptions, Wallet } from './stellar-wallet.js';
import { waitFor } from './wait-for.js';

/** A request that has the relayer pay for a payment of one stroop that a wallet signed. */
export function sponsoredPayment(wallet: Wallet, destination: string, options?: BuildOptions): Partial<StellarRequest> {
  const pay = Operation.payment({ destination, asset: Asset.native(), amount: '0.0000001' });
  return { transactionXdr: wallet.build([pay], options).toXdr(), feeBump: true };
}

/** A request that has the relayer pay for a contract call that a wallet simulated and signed, and that counts up by a number. */
export function sponsoredCall(ledger: StellarLedger, wallet: Wallet, by = 1, options: BuildOptions = {}): Partial<StellarRequest> {
  const args = [nativeToScVal(by, { type: 'u32' })];
  const call = Operation.invokeContractFunction({ contract: ledger.testContract, function: 'increment', args });
  const simulated = simulateTransaction({ transaction: wallet.build([call]).toXdr() }, viewOf(ledger, 0), ledger.networkId);
  const soroban = xdr.SorobanTransactionData.fromXdr(simulated.transactionData ?? '', 'base64');
  const feeStroops = 100n + soroban.resourceFee;
  return { transactionXdr: wallet.build([call], { ...options, soroban, feeStroops }).toXdr(), feeBump: true };
}

/** Resolves when the record's `status_reason` matches. */
export async function untilReason(rig: StellarRig, id: string, reason: RegExp): Promise<void> {
  let last: string | null = null;
  await waitFor(`${id} to say ${reason}`, async () => {
    last = (await rig.view(id)).transaction.statusReason;
    return (last !== null && reason.test(last)) || undefined;
  }).catch((error: unknown) => {
    throw new Error(`${error instanceof Error ? error.message : error}: ${last}`);
  });
}

/** Closes ledgers one by one. Each time, time passes as between ledgers of a public network, and the engine has seen the ledger. */
export async function closeLedgers(rig: StellarRig, count: number): Promise<void> {
  for (let closed = 0; closed < count; closed += 1) {
    rig.clock.moveOn(5_000);
    const { sequence } = rig.node.ledger.close();
    await waitFor(`ledger ${sequence} to be seen`, () => {
      const [network] = rig.engine.networks();
      return (network?.head?.number ?? 0n) >= BigInt(sequence) || undefined;
    });
    // Upkeep at this ledger ends before the next poll of the head wakes it again.
    const asked = rig.node.asked.filter((method) => method === 'getLatestLedger').length;
    await waitFor('two more polls', () => rig.node.asked.filter((method) => method === 'getLatestLedger').length >= asked + 2 || undefined);
  }
}
