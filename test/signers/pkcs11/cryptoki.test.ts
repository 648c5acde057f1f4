import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ck, ckr } from '../../../src/signers/pkcs11/cryptoki.js';

it('PKCS #11: the numbers are those of the standard', () => {
  const hex = (numbers: Readonly<Record<string, number>>) =>
    Object.entries(numbers).map(([name, number]) => `${name} ${number.toString(16)}`);
  assert.deepEqual(hex(ck), [
    ...['OS_LOCKING_OK 2', 'SERIAL_SESSION 4', 'USER 1', 'PUBLIC_KEY 2', 'PRIVATE_KEY 3', 'A_CLASS 0', 'A_LABEL 3', 'A_ID 102'],
    ...['A_EC_PARAMS 180', 'A_EC_POINT 181', 'M_ECDSA 1041', 'M_EDDSA 1057'],
  ]);
  assert.deepEqual(hex(ckr), [
    ...['PIN_INCORRECT a0', 'PIN_INVALID a1', 'PIN_LEN_RANGE a2', 'PIN_EXPIRED a3', 'PIN_LOCKED a4', 'KEY_TYPE_INCONSISTENT 63'],
    ...['KEY_FUNCTION_NOT_PERMITTED 68', 'MECHANISM_INVALID 70', 'NOT_INITIALIZED 190', 'ALREADY_INITIALIZED 191'],
  ]);
});
