import { ConfigError, type Problem } from '../config/problem.js';
import { accountProblems, type RelayerEntry } from '../config/relayer-entries.js';
import { DomainError } from '../core/errors/errors.js';
import type { SecretBox } from '../core/ports/secret-box.js';
import type { Signer } from '../core/ports/signer.js';
import type { NetworkType } from '../core/records/network.js';
import type { Relayer } from '../core/records/relayer.js';
import { findMovedAccounts, type MovedAccount } from '../core/relayer/moved-accounts.js';
import { hostedKeyFromStored, type PinnedKey } from '../core/signer/hosted-key.js';
import { type HeldSigner, type HostedKeys, keyFor, type Signers, signerPurpose } from '../core/signer/signers.js';
import { createParallelLimit } from '../core/work/parallel-limit.js';
import { KeystoreError } from '../signers/local/keystore-error.js';
import { localKeys } from '../signers/local/local-keys.js';
import type { Wanted, WantedSigner } from './wanted.js';

/** What it takes to open signers. */
export interface SignerOpeners {
  readonly secretBox: Pick<SecretBox, 'open'>;
  readonly hostedKeys: HostedKeys;
}

/** A signer that could not be opened. */
export interface UnopenedSigner {
  readonly wanted: WantedSigner;
  readonly error: DomainError | KeystoreError;
}

/** Keystores are opened in turn: there may be thousands, and their decryption uses few threads. */
const { run: inTurn } = createParallelLimit(8);

/**
 * Opens signers and adds them to `signers`. Returns the public keys of hosted signers, and the signers that cannot be opened. Any other
 * error is thrown after everything that was opened has been added. Needs no RPC node.
 */
export async function openSigners(
  wanted: readonly WantedSigner[],
  signers: Pick<Signers, 'add'>,
  openers: SignerOpeners,
): Promise<{ readonly pins: readonly PinnedKey[]; readonly unopened: readonly UnopenedSigner[] }> {
  const pins: PinnedKey[] = [];
  const unopened: UnopenedSigner[] = [];
  const opened = await Promise.allSettled(wanted.map((one) => openSigner(one, openers)));
  for (const [index, one] of wanted.entries()) {
    const outcome = opened[index];
    if (outcome?.status !== 'fulfilled') continue;
    signers.add(outcome.value.signer, one.sealed);
    if (outcome.value.pin !== null) pins.push(outcome.value.pin);
  }
  for (const [index, one] of wanted.entries()) {
    const outcome = opened[index];
    if (outcome?.status !== 'rejected') continue;
    const error: unknown = outcome.reason;
    if (!(error instanceof DomainError || error instanceof KeystoreError)) throw error;
    unopened.push({ wanted: one, error });
  }
  return { pins, unopened };
}

async function openSigner(
  { id, source, sealed, pin }: WantedSigner,
  { secretBox, hostedKeys }: SignerOpeners,
): Promise<{ readonly signer: HeldSigner; readonly pin: PinnedKey | null }> {
  if ('keystore' in source) return { signer: await inTurn(() => source.keystore.open(id, source.passphrase)), pin: null };
  if ('hosted' in source) return hostedKeys.open(id, source.hosted, pin, source.secretsInFiles);
  if (sealed === null || source.content === null) throw new Error(`the stored signer ${id} has no key`);
  const secret = secretBox.open(sealed, signerPurpose(id));
  const isLocal = 'type' in source.content && source.content.type === 'local';
  if (!isLocal) return hostedKeys.open(id, hostedKeyFromStored(source.content, secret), pin);
  const privateKey = Buffer.from(secret, 'hex');
  try {
    return { signer: localKeys.open(id, privateKey), pin: null };
  } finally {
    privateKey.fill(0);
  }
}

/** Returns what is wrong in the words of the configuration. */
export function problemOf({ wanted: { origin }, error }: UnopenedSigner): Problem {
  if (error instanceof KeystoreError) {
    const field = error.problem === 'wrong_passphrase' ? 'passphrase' : 'path';
    return { path: `${origin}.config.${field}`, problem: error.message };
  }
  const [field] = error.fields;
  return field === undefined ? { path: origin, problem: error.message } : { path: `${origin}.${field.field}`, problem: field.description };
}

/** A relayer with its key, whose chain is not open. */
export interface FoundAccount {
  readonly entry: RelayerEntry;
  readonly signer: Signer;
  readonly address: string;
}

/**
 * Finds the accounts of relayers whose signers are open; the others are left out. `others`: accounts that other relayers have. Returns the
 * problems of keys that cannot sign for the relayer's network, and of accounts that two relayers share. Needs no RPC node.
 */
export async function findAccounts(
  entries: readonly RelayerEntry[],
  { originOf }: Pick<Wanted, 'originOf'>,
  signers: Pick<Signers, 'find'>,
  others: readonly Pick<FoundAccount, 'entry' | 'address'>[] = [],
): Promise<{ readonly accounts: readonly FoundAccount[]; readonly problems: readonly Problem[] }> {
  const problems: Problem[] = [];
  const found = await Promise.all(
    entries.map(async (entry) => {
      const held = signers.find(entry.signerId);
      const signer = held && keyFor(held, entry.networkType);
      if (typeof signer === 'string') problems.push({ path: `${originOf(entry.id)}.signer_id`, problem: signer });
      if (signer === undefined || typeof signer === 'string') return [];
      return [{ entry, signer, address: await accountOf(entry.networkType, signer) }];
    }),
  );
  const accounts = found.flat();
  const shared = accountProblems(
    [...others, ...accounts].map(({ entry: { id, network }, address }) => ({ origin: originOf(id), id, network, address })),
  );
  return { accounts, problems: [...problems, ...shared] };
}

/** Returns the account address of a key on networks of this type, in their notation. */
export async function accountOf(type: NetworkType, signer: Signer): Promise<string> {
  if (signer.curve === 'secp256k1') return signer.address;
  const { addressFromPublicKey } = await (type === 'stellar'
    ? import('../chains/stellar/address.js')
    : import('../chains/solana/address.js'));
  return addressFromPublicKey(signer.publicKey);
}

/** Ends what hosted signers have open. */
export async function closeSigners(signers: Pick<Signers, 'all'>): Promise<void> {
  await Promise.all(signers.all().map((signer) => signer.close?.()));
}

/** Throws ConfigError if the key of a relayer has changed while transactions of its earlier account are open: nothing would settle them. */
export async function requireUnmovedAccounts(store: Parameters<typeof findMovedAccounts>[0], relayers: readonly Relayer[]): Promise<void> {
  const moved = await findMovedAccounts(store, relayers);
  if (moved.length > 0) throw new ConfigError(moved.map(movedProblem));
}

function movedProblem({ relayerId, account, openTransactions }: MovedAccount): Problem {
  const count = openTransactions === 1 ? '1 open transaction' : `${openTransactions} open transactions`;
  return {
    path: `relayer ${relayerId}`,
    problem: `the account of its signer has changed, but ${account} still has ${count}; restore the signer or the network until they are final, or cancel them`,
  };
}
