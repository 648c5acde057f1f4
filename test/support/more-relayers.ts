import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encryptKeystoreJsonSync, Wallet } from 'ethers';
import type { ServiceHome } from './service.js';

/** A relayer of a home. */
export interface HomeRelayer {
  readonly id: string;
  readonly address: string;
}

/** Adds EVM relayers `r2`, `r3` and so on to a home, each like `r1` with a key of its own. Returns all, `r1` first. */
export async function addRelayers({ dir, relayerId, address }: ServiceHome, added: number): Promise<readonly HomeRelayer[]> {
  const file = join(dir, 'config.json');
  const config = JSON.parse(await readFile(file, 'utf8'));
  const relayers: HomeRelayer[] = [{ id: relayerId, address }];
  for (let number = 2; number < 2 + added; number += 1) {
    const { address: account, privateKey } = Wallet.createRandom();
    const path = join(dir, `keystore-${number}.json`);
    await writeFile(path, encryptKeystoreJsonSync({ address: account, privateKey }, 'pass', { scrypt: { N: 1024, r: 8, p: 1 } }), {
      mode: 0o600,
    });
    config.relayers.push({ ...config.relayers[0], id: `r${number}`, name: `Relayer ${number}`, signer_id: `s${number}` });
    config.signers.push({ id: `s${number}`, type: 'local', config: { path, passphrase: { type: 'plain', value: 'pass' } } });
    relayers.push({ id: `r${number}`, address: account });
  }
  await writeFile(file, JSON.stringify(config));
  return relayers;
}
