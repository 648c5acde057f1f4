import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isSameKey, requireConsistent } from '../../../src/core/signer/hosted-key.js';

it('pinned key: slot and module_path of an HSM say where a key is, and its labels which key it is', () => {
  const at = { module_path: '/usr/lib/hsm.so', slot: 1, key_label: 'treasury' };
  const place = { type: 'pkcs11', at } as const;
  const isSame = (changes: object) => isSameKey(place, { type: 'pkcs11', at: { ...at, ...changes } });
  assert.deepEqual(
    [isSame({}), isSame({ slot: 2 }), isSame({ module_path: '/opt/hsm.so' }), isSame({ key_label: 'other' }), isSame({ key_id: '01' })],
    [true, true, true, false, false],
  );
});

it('hosted key: rejects a URL without a host, whose path would be taken for one', () => {
  const keyAt = (address: string) =>
    ({ type: 'vault', at: { address, key_name: 'a' }, secrets: { role_id: 'r', secret_id: 's' } }) as const;
  requireConsistent(keyAt('https://vault.example.com:8200/v1'));
  for (const address of ['https:///vault', 'https:vault', 'https:/vault', 'https:\\\\vault', 'vault', '']) {
    assert.throws(() => requireConsistent(keyAt(address)), {
      message: 'config.address must be a URL that begins with http:// or https://',
    });
  }
});
