import { computed, signal } from '@preact/signals';
import { ApiKeyScope, type Caller } from '../../../gen/relayer/v1/api_key_service_pb.js';

/** The API key. It lives in this variable alone, so a reload forgets it. */
let token: string | null = null;

const callerSignal = signal<Caller | null>(null);
const endedSignal = signal<string | null>(null);
/** Aborted at sign-out: it ends every stream and every call of the session. */
let ending = new AbortController();

/** What the API key may do. Null: signed out. */
export const caller = computed(() => callerSignal.value);

/** Why the last session ended by itself. Null: it did not. */
export const endedBecause = computed(() => endedSignal.value);

/** Returns the API key of the session, for the header of a call alone. */
export function sessionToken(): string | null {
  return token;
}

/** Returns the signal that aborts when the session ends. */
export function sessionSignal(): AbortSignal {
  return ending.signal;
}

/** Signs in: checks the key by a call that any valid key may make, and keeps it if the service accepts it. Throws the error of the call. */
export async function signIn(key: string, getCaller: () => Promise<Caller>): Promise<void> {
  token = key;
  try {
    callerSignal.value = await getCaller();
    endedSignal.value = null;
  } catch (error) {
    token = null;
    throw error;
  }
}

/** Forgets the key and ends all streams. */
export function signOut(reason: string | null = null): void {
  token = null;
  callerSignal.value = null;
  endedSignal.value = reason;
  ending.abort();
  ending = new AbortController();
}

/** Ends the session because the service rejects the key: it was revoked, or it has expired. */
export function endRejectedSession(): void {
  if (callerSignal.peek() !== null) signOut('The service no longer accepts this API key.');
}

/** Returns true if the API key has the scope. */
export function may(scope: ApiKeyScope): boolean {
  return callerSignal.value?.scopes.includes(scope) === true;
}

/** The scopes by short names, for `may`. */
export const scopes = {
  read: ApiKeyScope.TRANSACTIONS_READ,
  write: ApiKeyScope.TRANSACTIONS_WRITE,
  approve: ApiKeyScope.TRANSACTIONS_APPROVE,
  sign: ApiKeyScope.SIGN,
  notifications: ApiKeyScope.NOTIFICATIONS,
  admin: ApiKeyScope.ADMIN,
} as const;
