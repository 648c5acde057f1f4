import { ProviderError } from '../hosted/key-provider.js';
import type { FoundToken, TokenPlace } from './thread-messages.js';

/**
 * Tokens by library and name, each with the PINs that it rejected since its last login. They are not sent again, since tokens lock after a
 * few wrong ones.
 */
const rejectedPins = new Map<string, Set<string>>();

/** The tokens of a module that the process has found and logged in to. */
export interface TokenLogins {
  /** True if the module was initialized, and nothing has shown since that its sessions are lost. */
  isInitialized(): boolean;
  /** The module was initialized: it looks for its tokens again, and no login is left. */
  initialized(): void;
  /** The sessions are lost: the module must be initialized again. */
  lost(): void;
  /** Forgets which token is at a place: the module is about to be initialized. */
  forgetPlaces(): void;
  /** Throws `ProviderError` if the PIN must not be used for this token, or for the token at this place. */
  requireUsablePin(token: FoundToken | TokenPlace, pin: string): void;
  isLoggedIn(token: FoundToken): boolean;
  /** The token rejected the PIN. */
  rejected(token: FoundToken, pin: string): void;
  loggedIn(token: FoundToken, pin: string): void;
  /** This token is at the place. */
  found(place: TokenPlace, token: FoundToken): void;
  /** True if the token at this place is known and logged in to. */
  isReady(place: TokenPlace): boolean;
}

/** Creates the logins of a module that is not initialized. */
export function createTokenLogins(library: string): TokenLogins {
  /** Tokens that the process is logged in to, each with the PIN of that login; null: the module must be initialized first. */
  let loggedIn: Map<string, string> | null = null;
  /** Which token is at a place. */
  let tokens = new Map<string, FoundToken>();

  function rejectedBy({ name }: FoundToken): Set<string> {
    const key = `${library} ${name}`;
    const known = rejectedPins.get(key) ?? new Set();
    rejectedPins.set(key, known);
    return known;
  }

  return {
    isInitialized: () => loggedIn !== null,
    initialized() {
      loggedIn = new Map();
    },
    lost() {
      loggedIn = null;
    },
    forgetPlaces() {
      tokens = new Map();
    },
    requireUsablePin(at, pin) {
      const token = 'name' in at ? at : tokens.get(JSON.stringify(at));
      if (token === undefined) return;
      if (rejectedBy(token).has(pin))
        throw new ProviderError(
          'refused',
          'the token rejected the PIN, so the service does not send it again; correct it before you restart the service, since tokens lock after wrong PINs',
        );
      // A login is for the whole process: a wrong PIN would do while another signer of the token is logged in.
      const used = loggedIn?.get(textOf(token));
      if (used !== undefined && used !== pin)
        throw new ProviderError(
          'refused',
          'another signer is logged in to the token with another PIN; all signers of a token need the same PIN',
        );
    },
    isLoggedIn: (token) => loggedIn?.has(textOf(token)) === true,
    rejected: (token, pin) => void rejectedBy(token).add(pin),
    loggedIn(token, pin) {
      // The token counts wrong PINs from here on, and the PIN may be changed back.
      rejectedBy(token).clear();
      loggedIn?.set(textOf(token), pin);
    },
    found: (place, token) => void tokens.set(JSON.stringify(place), token),
    isReady(place) {
      const token = tokens.get(JSON.stringify(place));
      return token !== undefined && loggedIn?.has(textOf(token)) === true;
    },
  };
}

/** What tells tokens apart. A module may offer one token in several slots, each with a PIN of its own. */
function textOf({ slot, name: token }: FoundToken): string {
  return `${slot} ${token}`;
}
