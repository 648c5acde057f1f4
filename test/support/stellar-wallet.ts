import { Account, type FeeBumpTransaction, Keypair, type Memo, type Transaction, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import type { StellarLedger } from '../../src/sandbox/stellar/ledger.js';
import { change, v1Of } from './stellar-xdr.js';

/** The options of a test transaction. */
export interface BuildOptions {
  /** The default is one above the account's number. */
  readonly sequence?: bigint;
  /** The full fee in stroops; default 100 per operation. */
  readonly feeStroops?: bigint;
  readonly memo?: Memo;
  /** Unix seconds; 0 (default) for none. */
  readonly maxTimeSeconds?: number;
  readonly minTimeSeconds?: number;
  readonly soroban?: xdr.SorobanTransactionData;
  /** The signers; default the account. */
  readonly signers?: readonly Keypair[];
}

/** A test account that builds its transactions with the SDK. */
export interface Wallet {
  readonly keys: Keypair;
  /** G... */
  readonly address: string;
  /** Builds and signs a transaction. */
  build(operations: readonly xdr.Operation[], options?: BuildOptions): Transaction;
  /** Wraps a transaction in a fee-bump envelope with this total fee. */
  bump(inner: Transaction, feeStroops: bigint, signers?: readonly Keypair[]): FeeBumpTransaction;
  /** Returns the current balance in stroops. */
  balance(): bigint;
  /** The last used sequence number. */
  sequence(): bigint;
}

/** Creates an account with this balance on a ledger; with 0 stroops it does not exist. */
export function createWallet(ledger: StellarLedger, stroops = 100_000_000_000n): Wallet {
  const keys = Keypair.random();
  if (stroops > 0n) ledger.fund(keys.publicKey(), stroops);
  return walletOf(ledger, keys);
}

/** Returns the wallet of a key, whether its account exists or not. */
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
      // The SDK would round the fee per operation, so the envelope is built directly.
      const tx = new xdr.FeeBumpTransaction({
        feeSource: xdr.MuxedAccount.keyTypeEd25519(keys.rawPublicKey()),
        fee: feeStroops,
        innerTx: xdr.FeeBumpTransactionInnerTx.envelopeTypeTx(v1Of(inner.toEnvelope())),
        ext: xdr.FeeBumpTransactionExt.v0(),
      });
      const envelope = xdr.TransactionEnvelope.envelopeTypeTxFeeBump(new xdr.FeeBumpTransactionEnvelope({ tx, signatures: [] }));
      const bumped = TransactionBuilder.fromXdr(envelope, ledger.passphrase) as FeeBumpTransaction;
      bumped.sign(...signers);
      return bumped;
    },
    balance: () => held()?.balanceStroops ?? 0n,
    sequence: () => held()?.sequence ?? 0n,
  };
}

/** Sets the exact fee: the builder would add the resource fee. */
function withFee(transaction: Transaction, feeStroops: bigint, passphrase: string): Transaction {
  const envelope = transaction.toEnvelope();
  change(v1Of(envelope).tx, { fee: Number(feeStroops) });
  return TransactionBuilder.fromXdr(envelope, passphrase) as Transaction;
}
