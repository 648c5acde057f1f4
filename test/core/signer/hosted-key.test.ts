import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isSameKey } from '../../../src/core/signer/hosted-key.js';

it('pinned key: slot and module_path of an HSM say where a key is, and its labels which key it is', () => {
  const at = { module_path: '/usr/lib/hsm.so', slot: 1, key_label: 'treasury' };
  const place = { type: 'pkcs11', at } as const;
  const isSame = (changes: object) => isSameKey(place, { type: 'pkcs11', at: { ...at, ...changes } });
  assert.deepEqual(
    [isSame({}), isSame({ slot: 2 }), isSame({ module_path: '/opt/hsm.so' }), isSame({ key_label: 'other' }), isSame({ key_id: '01' })],
    [true, true, true, false, false],
  );
});
