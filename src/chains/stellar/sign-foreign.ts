import { xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors/errors.js';
import type { SignedForCaller } from '../../core/ports/chain/requests.js';
import type { Ed25519Signer } from '../../core/ports/signer.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { Relayer } from '../../core/records/relayer.js';
import type { CallOptions } from '../rpc/call-router.js';
import type { Rpc } from '../rpc/rpc.js';
import { withSecondWord } from '../rpc/second-word.js';
import { readAccounts } from './account.js';
import { forbidden, forbiddenChangeIn, requireAllowed, sourceOf } from './account-changes.js';
import { accountOf, addressFromMuxedAccount } from './address.js';
import { isOwnSource } from './policy.js';
import { whyAboveMax } from './price-attempt.js';
import { signatureOf, whyWronglySigned } from './sign.js';
import { hashOfFeeBump, hashOfTransaction, isMarked } from './transaction.js';
import { readXdrField } from './xdr-text.js';

const field = 'unsigned_xdr';
const maxSignatures = 20;

/** A caller's envelope that the relayer may sign. */
export interface EnvelopeToSign {
  readonly envelope: xdr.TransactionEnvelope;
  readonly hash: Buffer;
  readonly signatures: xdr.DecoratedSignature[];
}

/**
 * Adds the relayer's signature to a caller's envelope. Nodes are asked only about other accounts, for which the signature might count, too.
 * Throws `DomainError` (400) as `readEnvelopeToSign` does, and `NODE_UNAVAILABLE`.
 */
export async function signForeignTransaction(
  rpc: Rpc,
  networkId: Buffer,
  text: string,
  relayer: Relayer,
  signer: Ed25519Signer,
): Promise<SignedForCaller> {
  const { envelope, hash, signatures } = readEnvelopeToSign(networkId, text, relayer);
  await requireNoOtherAccount(rpc, envelope, relayer);
  const signature = await signatureOf(hash, signer);
  const isSigned = signatures.some((one) => one.hint.equals(signature.hint) && one.signature.equals(signature.signature));
  if (!isSigned && signatures.length >= maxSignatures) throw invalidField(field, `already has ${maxSignatures} signatures, the maximum`);
  // This changes the envelope itself.
  if (!isSigned) signatures.push(signature);
  return {
    transaction: envelope.toXdr('base64'),
    signature: Buffer.from(signature.signature.value).toString('base64'),
    hash: hash.toString('hex'),
  };
}

/**
 * Reads a caller's envelope. It must use the relayer's account, for the transaction, an operation or the fee of a fee-bump
 * envelope: nodes reject unneeded signatures. A fee that the relayer pays must be within its policy, and so must be what the operations
 * change in its account. The caller is responsible for the sequence number. Throws `DomainError` (400).
 */
export function readEnvelopeToSign(networkId: Buffer, text: string, relayer: Relayer): EnvelopeToSign {
  if (text === '') throw invalidField(field, 'is required');
  const envelope = readXdrField(xdr.TransactionEnvelope, text, field, 'a TransactionEnvelope');
  return { envelope, ...partsOf(envelope, networkId, relayer) };
}

function partsOf(envelope: xdr.TransactionEnvelope, networkId: Buffer, relayer: Relayer): Omit<EnvelopeToSign, 'envelope'> {
  switch (envelope.type) {
    case 'envelopeTypeTx': {
      const transaction = envelope.v1.tx;
      const isPayer = isOf(relayer, transaction.sourceAccount);
      const isIn = isPayer || transaction.operations.some((operation) => isOf(relayer, operation.sourceAccount));
      if (!isIn)
        throw invalidField(
          field,
          `must have ${relayer.address}, the relayer's account, as the source account of the transaction or of an operation`,
        );
      if (isPayer) requireFee(relayer, BigInt(transaction.fee));
      if (isPayer && isMarked(transaction))
        throw invalidField(
          field,
          'has a minimum ledger of 1 and no maximum ledger, which marks transactions that the service sends; leave the ledger bounds out',
        );
      requireChanges(relayer, transaction);
      return { hash: hashOfTransaction(networkId, transaction), signatures: envelope.v1.signatures };
    }
    case 'envelopeTypeTxFeeBump': {
      const bump = envelope.feeBump.tx;
      if (!isOf(relayer, bump.feeSource))
        throw invalidField(field, `must be a fee-bump envelope whose fee ${relayer.address}, the relayer's account, pays`);
      requireFee(relayer, bump.fee);
      requireChanges(relayer, bump.innerTx.v1.tx);
      const wrong = whyWronglySigned(networkId, bump.innerTx.v1);
      if (wrong !== null) throw invalidField(field, `wraps an envelope that ${wrong}`);
      return { hash: hashOfFeeBump(networkId, bump), signatures: envelope.feeBump.signatures };
    }
    case 'envelopeTypeTxV0':
      throw invalidField(field, 'must be an envelope of version 1; version 0 is obsolete');
    default:
      throw invalidField(field, 'must be a transaction envelope');
  }
}

/**
 * Throws if the relayer's key is a signer of an account of the envelope that it must not act for: as in what the service sends, only the
 * relayer's account and its `operation_source_accounts` are allowed. Other accounts need signatures of their own, which are the caller's
 * affair.
 */
async function requireNoOtherAccount(rpc: Rpc, envelope: xdr.TransactionEnvelope, relayer: Relayer): Promise<void> {
  // The signature of a fee bump counts for the account that pays the fee alone.
  if (envelope.type !== 'envelopeTypeTx') return;
  const { operations, sourceAccount } = envelope.v1.tx;
  const policies = onNetwork('stellar', relayer.policies);
  const payer = addressFromMuxedAccount(sourceAccount);
  const accounts = new Set([accountOf(payer) ?? '', ...operations.map((operation) => sourceOf(operation, payer))]);
  const others = [...accounts].filter((account) => !isOwnSource(account, relayer.address, policies));
  if (others.length === 0) return;
  const signedFor = async (options: CallOptions) => {
    const found = await readAccounts(rpc, others, options);
    return others.find((account) => found.get(account)?.signers.includes(relayer.address) === true) ?? null;
  };
  // A signature is final, so a second endpoint is asked whether it counts for nothing else.
  const { answer: account } = await withSecondWord(rpc, signedFor, (first) => first === null);
  const whose = "of which the relayer's key is a signer, and which is not in the relayer's operation_source_accounts";
  requireAllowed(field, account === null ? null : `acts for ${account}, ${whose}`);
}

function isOf(relayer: Relayer, account: xdr.MuxedAccount | null): boolean {
  return account != null && accountOf(addressFromMuxedAccount(account)) === relayer.address;
}

/** Throws if the relayer's policies forbid what a transaction takes from its account. */
function requireChanges(relayer: Relayer, transaction: xdr.Transaction): void {
  const policies = onNetwork('stellar', relayer.policies);
  const sourceAccount = addressFromMuxedAccount(transaction.sourceAccount);
  requireAllowed(field, forbiddenChangeIn({ operations: transaction.operations, sourceAccount }, relayer.address, policies));
  const condition = transaction.cond;
  // Such a transaction lands with any sequence number above the account's, which later ones must then exceed.
  const skips = condition.type === 'precondV2' && condition.v2.minSeqNum != null;
  if (skips && accountOf(sourceAccount) === relayer.address && !policies.allowAccountChanges.includes('bump_sequence'))
    requireAllowed(field, `has a minimum sequence number that ${forbidden('bump_sequence', relayer.address, relayer.address)}`);
}

function requireFee(relayer: Relayer, feeStroops: bigint): void {
  const problem = whyAboveMax(feeStroops, onNetwork('stellar', relayer.policies));
  if (problem !== null) throw invalidField(field, `has a fee of ${problem}`);
}
