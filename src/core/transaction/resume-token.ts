import { DomainError } from '../errors/errors.js';

/** The scope of a watch. Its tokens are valid for no other watch. */
export interface WatchScope {
  readonly databaseId: string;
  readonly relayerId: string;
  /** Null: all transactions of the relayer. */
  readonly transactionId: string | null;
}

/** How far a watch has come. */
export interface Cursor {
  /** Changes up to this position are delivered, except for changes that the snapshot still has to deliver. */
  readonly position: number;
  /** The place of the last transaction that the snapshot has delivered; null: the snapshot is complete. */
  readonly snapshotPlace: number | null;
}

const maxTokenLength = 512;
const tokenPattern = /^[A-Za-z0-9_-]+$/;

/**
 * Writes a cursor as an opaque text. It holds no secret and needs no signature: a forged one shows nothing but the caller's own records.
 */
export function tokenOf({ databaseId, relayerId, transactionId }: WatchScope, { position, snapshotPlace }: Cursor): string {
  return Buffer.from(JSON.stringify([databaseId, relayerId, transactionId, position, snapshotPlace])).toString('base64url');
}

/** Reads a token. Throws `precondition` RESUME_TOKEN_EXPIRED if it is no token, or one of another watch or of another database. */
export function cursorOf(token: string, { databaseId, relayerId, transactionId }: WatchScope): Cursor {
  const parts = partsOf(token);
  if (!Array.isArray(parts)) throw tokenExpired('resume_token is not a token of WatchTransactions');
  const [database, relayer, transaction, position, snapshotPlace, ...others] = parts;
  const isCursor = isCount(position) && (snapshotPlace === null || isCount(snapshotPlace)) && others.length === 0;
  if (!isCursor) throw tokenExpired('resume_token is not a token of WatchTransactions');
  if (database !== databaseId) throw tokenExpired('resume_token is from another database, or from before a restore');
  if (relayer !== relayerId || transaction !== transactionId) {
    throw tokenExpired('resume_token is from a watch with another relayer_id or transaction_id');
  }
  return { position, snapshotPlace };
}

/** The error of a token that no watch can continue from. */
export function tokenExpired(why: string): DomainError {
  return new DomainError('precondition', 'RESUME_TOKEN_EXPIRED', `${why}; start a new watch without a resume_token`);
}

function partsOf(token: string): unknown {
  if (token.length > maxTokenLength || !tokenPattern.test(token)) return undefined;
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
