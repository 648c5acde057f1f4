import { createCipheriv, randomBytes } from 'node:crypto';

/** The key that the records' secrets are encrypted with. */
export const oldKey = randomBytes(32);

/**
 * Encrypts a secret as OpenZeppelin Relayer does: base64 of JSON with a nonce and a ciphertext that ends with its tag. Version 2 binds it to
 * the Redis key of its record.
 */
export function encrypted(plain: string, recordKey: string, version: 1 | 2 = 2, key = oldKey): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  if (version === 2) cipher.setAAD(Buffer.from(recordKey));
  const ciphertext = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  const parts = { nonce: nonce.toString('base64'), ciphertext: ciphertext.toString('base64'), version };
  return Buffer.from(JSON.stringify(parts)).toString('base64');
}

/** What OpenZeppelin Relayer stores without an encryption key. */
export function unencrypted(plain: string): string {
  return Buffer.from(JSON.stringify(plain)).toString('base64');
}

/** A record and its Redis key. */
export type Stored = readonly [key: string, record: object];

export function localSigner(id: string, privateKey: string, seal: (plain: string, recordKey: string) => string = encrypted): Stored {
  const key = `oz-relayer:signer:${id}`;
  const rawKey = Buffer.from(privateKey, 'hex').toString('base64');
  return [key, { id, config: { Local: { raw_key: seal(rawKey, key) } } }];
}

export function notification(id: string, url: string, signingKey: string | null): Stored {
  const key = `oz-relayer:notification:${id}`;
  return [key, { id, notification_type: 'webhook', url, signing_key: signingKey === null ? null : encrypted(signingKey, key) }];
}

/** A relayer on the network `local`, unless `parts` say otherwise. */
export function evmRelayer(id: string, signerId: string, parts: object = {}): Stored {
  return [
    `oz-relayer:relayer:${id}`,
    {
      id,
      name: `Relayer ${id}`,
      network: 'local',
      paused: false,
      network_type: 'evm',
      signer_id: signerId,
      policies: { network_type: 'evm', min_balance: '0' },
      address: '',
      notification_id: null,
      system_disabled: false,
      disabled_reason: null,
      custom_rpc_urls: null,
      ...parts,
    },
  ];
}

export function apiKeyRecord(id: string, name: string, permissions: readonly string[]): Stored {
  const key = `oz-relayer:apikey:${id}`;
  return [
    key,
    {
      id,
      value: encrypted(`secret of ${name}`, key),
      name,
      allowed_origins: ['*'],
      created_at: '2025-01-01 12:00:00.123 UTC',
      permissions,
    },
  ];
}

export function transaction(id: string, relayerId: string, status: string): Stored {
  return [`oz-relayer:relayer:${relayerId}:tx:${id}`, { id, relayer_id: relayerId, status, hashes: {}, network_type: 'evm' }];
}
