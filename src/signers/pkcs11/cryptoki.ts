import { createRequire } from 'node:module';

/** A handle of the module: a slot, a session or an object. */
export type Handle = Buffer;

/** The part of `pkcs11js` that the service calls. It is an optional package, so its own types may be missing when the service is built. */
export interface Cryptoki {
  load(path: string): void;
  C_Initialize(options: { readonly flags: number }): void;
  C_Finalize(): void;
  C_GetSlotList(tokenPresent: boolean): Handle[];
  C_GetTokenInfo(slot: Handle): { readonly label: string; readonly serialNumber: string };
  C_OpenSession(slot: Handle, flags: number): Handle;
  C_CloseSession(session: Handle): void;
  C_Login(session: Handle, userType: number, pin: string): void;
  C_Logout(session: Handle): void;
  C_FindObjectsInit(session: Handle, template: readonly { readonly type: number; readonly value: number | string | Buffer }[]): void;
  C_FindObjects(session: Handle, maxCount: number): Handle[];
  C_FindObjectsFinal(session: Handle): void;
  C_GetAttributeValue(
    session: Handle,
    object: Handle,
    template: readonly { readonly type: number }[],
  ): readonly { readonly value: Buffer }[];
  C_SignInit(session: Handle, mechanism: { readonly mechanism: number }, key: Handle): void;
  C_Sign(session: Handle, data: Buffer, signature: Buffer): Buffer;
}

/** Numbers of the PKCS #11 standard, version 3. */
export const ck = {
  OS_LOCKING_OK: 0x02,
  SERIAL_SESSION: 0x04,
  USER: 1,
  PUBLIC_KEY: 2,
  PRIVATE_KEY: 3,
  A_CLASS: 0x000,
  A_LABEL: 0x003,
  A_ID: 0x102,
  A_EC_PARAMS: 0x180,
  A_EC_POINT: 0x181,
  M_ECDSA: 0x1041,
  M_EDDSA: 0x1057,
} as const;

/** Results that have a meaning of their own for the service. */
export const ckr = {
  PIN_INCORRECT: 0xa0,
  PIN_INVALID: 0xa1,
  PIN_LEN_RANGE: 0xa2,
  PIN_EXPIRED: 0xa3,
  PIN_LOCKED: 0xa4,
  KEY_TYPE_INCONSISTENT: 0x63,
  KEY_FUNCTION_NOT_PERMITTED: 0x68,
  MECHANISM_INVALID: 0x70,
  NOT_INITIALIZED: 0x190,
  ALREADY_INITIALIZED: 0x191,
} as const;

/** Loads `pkcs11js`. Throws if the optional package is missing. */
export function loadCryptoki(): Cryptoki {
  const { PKCS11 } = createRequire(import.meta.url)('pkcs11js') as { PKCS11: new () => Cryptoki };
  return new PKCS11();
}

/** Returns the result code of an error of the module; undefined: it is none. */
export function resultOf(error: unknown): number | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'number' && code > 0 ? code : undefined;
}
