import { Account, type FeeBumpTransaction, Keypair, type Memo, type Transaction, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import type { StellarLedger } from './ledger.js';

/** What a test may decide about a transaction. */
export interface BuildOptions {
  /** Default: one above the account's. */
  readonly sequence?: bigint;
  /** The full fee in stroops; default 100 for each operation. */
  readonly feeStroops?: bigint;
  readonly memo?: Memo;
  /** Unix seconds; 0: none. Default: none. */
  readonly maxTimeSeconds?: number;
  readonly minTimeSeconds?: number;
  readonly soroban?: xdr.SorobanTransactionData;
  /** Who signs; default: the account. */
  readonly signers?: readonly Keypair[];
}

/** An account of a test, which builds its transactions with the SDK alone. */
export interface Wallet {
  readonly keys: Keypair;
  /** G... */
  readonly address: string;
  /** Builds and signs. */
  build(operations: readonly xdr.Operation[], options?: BuildOptions): Transaction;
  /** Pays for another's transaction, `feeStroops` in all. */
  bump(inner: Transaction, feeStroops: bigint, signers?: readonly Keypair[]): FeeBumpTransaction;
  /** What it holds now, in stroops. */
  balance(): bigint;
  /** The last sequence number that it used. */
  sequence(): bigint;
}

/** Makes an account, with so many stroops, on a ledger; with none it is not there. */
export function createWallet(ledger: StellarLedger, stroops = 100_000_000_000n): Wallet {
  const keys = Keypair.random();
  if (stroops > 0n) ledger.fund(keys.publicKey(), stroops);
  return walletOf(ledger, keys);
}

/** The account of this key, whether it is there or not. */
export function walletOf(ledger: StellarLedger, keys: Keypair): Wallet {
  const address = keys.publicKey();
  const held = () => ledger.latest().state.accounts.get(address);
  return {
    keys,
    address,
    build(operations, options = {}) {
      const sequence = options.sequence ?? (held()?.sequence ?? 0n) + 1n;
      const builder = new TransactionBuilder(new Account(address, String(sequence - 1n)), {
        fee: '100',
        networkPassphrase: ledger.passphrase,
        timebounds: { minTime: options.minTimeSeconds ?? 0, maxTime: options.maxTimeSeconds ?? 0 },
        ...(options.memo === undefined ? {} : { memo: options.memo }),
        ...(options.soroban === undefined ? {} : { sorobanData: options.soroban }),
      });
      for (const operation of operations) builder.addOperation(operation);
      const transaction = withFee(builder.build(), options.feeStroops ?? BigInt(100 * operations.length), ledger.passphrase);
      transaction.sign(...(options.signers ?? [keys]));
      return transaction;
    },
    bump(inner, feeStroops, signers = [keys]) {
      // The SDK would count the fee for each operation and round it; the envelope is built as it is.
      const tx = new xdr.FeeBumpTransaction({
        feeSource: xdr.MuxedAccount.keyTypeEd25519(keys.rawPublicKey()),
        fee: new xdr.Int64(feeStroops),
        innerTx: xdr.FeeBumpTransactionInnerTx.envelopeTypeTx(inner.toEnvelope().v1()),
        ext: new xdr.FeeBumpTransactionExt(0),
      });
      const envelope = xdr.TransactionEnvelope.envelopeTypeTxFeeBump(new xdr.FeeBumpTransactionEnvelope({ tx, signatures: [] }));
      const bumped = TransactionBuilder.fromXDR(envelope, ledger.passphrase) as FeeBumpTransaction;
      bumped.sign(...signers);
      return bumped;
    },
    balance: () => held()?.balanceStroops ?? 0n,
    sequence: () => held()?.sequence ?? 0n,
  };
}

/** The builder adds the resource fee of its own accord; here the fee is what it is told. */
function withFee(transaction: Transaction, feeStroops: bigint, passphrase: string): Transaction {
  const envelope = transaction.toEnvelope();
  envelope.v1().tx().fee(Number(feeStroops));
  return TransactionBuilder.fromXDR(envelope, passphrase) as Transaction;
}
