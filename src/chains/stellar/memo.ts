import { Memo, type xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors.js';
import type { StellarMemo } from '../../core/transaction/stellar.js';

const greatestTextBytes = 28;

/** The memo that a caller describes; absent: none. Throws `DomainError` (400) naming the field. */
export function memoFrom(memo: StellarMemo | undefined): xdr.Memo {
  switch (memo?.kind) {
    case undefined:
    case 'none':
      return Memo.none().toXDRObject();
    case 'unset':
      throw invalidField('memo.type', 'is required');
    case 'text':
      if (Buffer.byteLength(memo.text) > greatestTextBytes) throw invalidField('memo.value', 'must be at most 28 bytes in UTF-8');
      return Memo.text(memo.text).toXDRObject();
    case 'id':
      return Memo.id(memo.id.toString()).toXDRObject();
    case 'hash':
      return Memo.hash(hashHex(memo.bytes)).toXDRObject();
    case 'return':
      return Memo.return(hashHex(memo.bytes)).toXDRObject();
  }
}

function hashHex(bytes: Uint8Array): string {
  if (bytes.length !== 32) throw invalidField('memo.value', 'must be 32 bytes: 64 hex digits or an array of 32 integers');
  return Buffer.from(bytes).toString('hex');
}
