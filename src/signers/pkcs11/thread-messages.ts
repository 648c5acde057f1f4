import type { PublicKey } from '../hosted/key-provider.js';

/** A token of a module: by its label, or by the id of its slot. */
export interface TokenPlace {
  readonly tokenLabel: string | null;
  readonly slot: number | null;
}

/** A token as the module shows it, however it was found. */
export interface FoundToken {
  /** The id of its slot, in hex. */
  readonly slot: string;
  /** Its label and its serial number. */
  readonly name: string;
}

/** A key of a token: by its label, or by its id in hex. */
export interface KeyPlace extends TokenPlace {
  readonly keyLabel: string | null;
  readonly keyId: string | null;
}

/** The work of one task. */
export type ThreadTask =
  /** Initializes the module; `again`: ends all sessions of the process first, so that the module looks for its tokens. */
  | { readonly kind: 'initialize'; readonly again: boolean }
  /** Ends all sessions of the process, and with them its logins. */
  | { readonly kind: 'finalize' }
  /** Finds out which token is at this place. */
  | { readonly kind: 'find'; readonly token: TokenPlace }
  /** Logs out and in, and opens the session that keeps the process logged in. */
  | { readonly kind: 'login'; readonly token: TokenPlace; readonly pin: string }
  | { readonly kind: 'publicKey'; readonly key: KeyPlace }
  | { readonly kind: 'sign'; readonly key: KeyPlace; readonly bytes: Uint8Array };

/** A task as it is sent. A thread forgets its sessions when the generation changes: they have ended. */
export type ThreadRequest = ThreadTask & { readonly generation: number };

/**
 * Why a thread could not do its task. `pin`: the token rejects the PIN. `refused`: it will reject the same again. `lost`: the token, the
 * session or the object is gone; initializing the module again may help. `missing`: the package `pkcs11js` or the module cannot be loaded.
 */
export type ThreadProblem = 'pin' | 'refused' | 'lost' | 'missing';

/** The answer of a thread. */
export type ThreadAnswer =
  /** The public keys with the name of the key, of which at most one belongs to it. */
  | { readonly candidates: readonly PublicKey[] }
  | { readonly bytes: Uint8Array }
  | { readonly found: FoundToken }
  | { readonly done: true }
  | { readonly problem: ThreadProblem; readonly message: string };
