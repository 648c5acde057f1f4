import { createHash } from 'node:crypto';
import { onNetwork } from '../../core/records/on-network.js';
import type { Relayer, SolanaAccountChange } from '../../core/records/relayer.js';
import { computeBudgetProgram, systemProgram } from './address.js';
import type { Message } from './wire.js';

/**
 * What takes away the ability of an account to act: see `SolanaAccountChange` in the definitions. Each row is an instruction of a program
 * that the cluster's own nodes know; what other programs do can only be seen in a simulation.
 */
interface Row {
  readonly change: SolanaAccountChange;
  /** The discriminators of the instruction and its variants. */
  readonly tags: readonly Tag[];
  /**
   * The index of the account that the instruction takes something from: the relayer's account loses it in this place. `rest`: in any
   * place from this one on, since the signers of a multisig account follow it.
   */
  readonly loser: number;
  readonly rest?: true;
  /** The index of the account that gets what is left: if it is the relayer's, the relayer loses nothing. */
  readonly receiver?: number;
  /** The names that nodes give to these instructions when they parse them. */
  readonly parsed: readonly string[];
}

/** A number; a number with the number of an extension's instruction; or the 8 bytes of an interface's instruction as hex. */
type Tag = number | readonly [extension: number, instruction: number] | string;

interface Program {
  readonly addresses: readonly string[];
  /** The length of the number at the start of the data. */
  readonly tagBytes: 1 | 4;
  /** The highest number that this table was written for, and the interfaces' instructions that take nothing. */
  readonly known: number;
  readonly harmless?: readonly string[];
  readonly rows: readonly Row[];
}

/** Returns the discriminator of an instruction of an interface that any program can implement (`spl_discriminator`). */
function interfaceTag(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 16);
}

/** The instruction of the token programs that holds others (SIMD-0266). */
const tokenBatch = 255;
/** Its mints can have programs of their own, which transfers call. */
export const token2022Program = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
/** The programs of SPL tokens. */
export const tokenPrograms: readonly string[] = ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', token2022Program];

/**
 * The table. Sources: `SystemInstruction`, `StakeInstruction`, `VoteInstruction`, `UpgradeableLoaderInstruction` and `LoaderV4Instruction`
 * of the Solana SDK, `TokenInstruction` of Token-2022 with its extensions, and the interfaces of token metadata and token groups.
 */
export const programs: readonly Program[] = [
  {
    addresses: [systemProgram],
    tagBytes: 4,
    known: 13,
    rows: [
      { change: 'assign', tags: [1, 10], loser: 0, parsed: ['assign', 'assignWithSeed'] },
      // An account that was emptied just before can be created again, for another program.
      { change: 'assign', tags: [0, 3], loser: 1, parsed: ['createAccount', 'createAccountWithSeed'] },
      // SIMD-0312 creates an account that has a balance.
      { change: 'assign', tags: [13], loser: 0, parsed: ['createAccountAllowPrefund'] },
      { change: 'allocate', tags: [8, 9], loser: 0, parsed: ['allocate', 'allocateWithSeed'] },
      { change: 'nonce_authority', tags: [7], loser: 1, parsed: ['authorizeNonce'] },
    ],
  },
  {
    addresses: tokenPrograms,
    tagBytes: 1,
    known: 46,
    harmless: [
      'spl_token_metadata_interface:initialize_account',
      'spl_token_metadata_interface:updating_field',
      'spl_token_metadata_interface:remove_key_ix',
      'spl_token_metadata_interface:emitter',
      'spl_token_group_interface:initialize_token_group',
      'spl_token_group_interface:update_group_max_size',
      'spl_token_group_interface:initialize_member',
    ].map(interfaceTag),
    rows: [
      { change: 'token_authority', tags: [6], loser: 1, rest: true, parsed: ['setAuthority'] },
      {
        change: 'token_authority',
        tags: [
          interfaceTag('spl_token_metadata_interface:update_the_authority'),
          interfaceTag('spl_token_group_interface:update_authority'),
        ],
        loser: 1,
        rest: true,
        parsed: ['updateTokenMetadataAuthority', 'updateTokenGroupAuthority'],
      },
      { change: 'token_delegate', tags: [4], loser: 2, rest: true, parsed: ['approve'] },
      { change: 'token_delegate', tags: [13], loser: 3, rest: true, parsed: ['approveChecked'] },
      { change: 'token_close', tags: [9], loser: 2, rest: true, receiver: 1, parsed: ['closeAccount'] },
      { change: 'token_encryption', tags: [[27, 2]], loser: 3, rest: true, parsed: ['configureConfidentialTransferAccount'] },
    ],
  },
  {
    addresses: ['Stake11111111111111111111111111111111111111'],
    tagBytes: 4,
    known: 17,
    rows: [
      // The custodian of a lockup follows the authority. In the checked variants the new authority is between them.
      { change: 'stake_authority', tags: [1], loser: 2, rest: true, parsed: ['authorize'] },
      { change: 'stake_authority', tags: [10], loser: 2, parsed: ['authorizeChecked'] },
      { change: 'stake_authority', tags: [10, 11], loser: 4, parsed: [] },
      { change: 'stake_authority', tags: [8], loser: 1, rest: true, parsed: ['authorizeWithSeed'] },
      { change: 'stake_authority', tags: [11], loser: 1, parsed: ['authorizeCheckedWithSeed'] },
      { change: 'stake_authority', tags: [6, 12], loser: 1, parsed: ['setLockup', 'setLockupChecked'] },
    ],
  },
  {
    addresses: ['Vote111111111111111111111111111111111111111'],
    tagBytes: 4,
    known: 15,
    rows: [
      {
        change: 'vote_authority',
        tags: [1, 7, 10, 11],
        loser: 2,
        parsed: ['authorize', 'authorizeChecked', 'authorizeWithSeed', 'authorizeCheckedWithSeed'],
      },
    ],
  },
  {
    addresses: ['BPFLoaderUpgradeab1e11111111111111111111111'],
    tagBytes: 4,
    known: 9,
    rows: [
      { change: 'program_authority', tags: [4, 7], loser: 1, parsed: ['setAuthority', 'setAuthorityChecked'] },
      { change: 'program_authority', tags: [5], loser: 2, parsed: ['close'] },
    ],
  },
  {
    addresses: ['LoaderV411111111111111111111111111111111111'],
    tagBytes: 4,
    known: 6,
    rows: [{ change: 'program_authority', tags: [5, 6], loser: 1, parsed: ['transferAuthority', 'finalize'] }],
  },
];

/** A call of a program with the addresses of its accounts. */
interface ProgramCall {
  readonly program: string;
  /** An account that a lookup table holds has no address here. */
  readonly accounts: readonly (string | undefined)[];
  /** Null: too long to read. */
  readonly data: Uint8Array | null;
}

/** A call as nodes parse it. */
interface ParsedCall {
  readonly program: string;
  readonly type: string;
  readonly info: Readonly<Record<string, unknown>>;
}

/** The state of an account after a simulation. */
export interface AccountAfter {
  readonly lamports: bigint;
  readonly owner: string;
  readonly dataBytes: number;
}

/** What a simulation shows, as far as the node reports it. */
export interface Effects {
  /** The relayer's account after the transaction; null: not reported. */
  readonly after: AccountAfter | null;
  /** The calls that programs made. */
  readonly inner: readonly (ProgramCall | ParsedCall)[];
}

/** Returns what a call takes from an account; null: nothing that the table has. */
function changeBy({ program: address, accounts, data }: ProgramCall, account: string): SolanaAccountChange | null {
  const program = programs.find(({ addresses }) => addresses.includes(address));
  if (program === undefined || !accounts.includes(account)) return null;
  if (data === null) return 'unknown';
  const bytes = Buffer.from(data);
  // Data without a whole number is no instruction.
  if (bytes.length < program.tagBytes) return null;
  const tag = program.tagBytes === 1 ? bytes.readUInt8(0) : bytes.readUInt32LE(0);
  if (program.tagBytes === 1 && tag === tokenBatch) return changeByBatch(address, accounts, bytes, account);
  const interfaces = bytes.subarray(0, 8).toString('hex');
  const isOf = (one: Tag): boolean => {
    if (typeof one === 'number') return one === tag;
    return typeof one === 'string' ? one === interfaces : one[0] === tag && one[1] === bytes[1];
  };
  const row = program.rows.find(({ tags, loser, rest, receiver }) => {
    const losers = rest === true ? accounts.slice(loser) : [accounts[loser]];
    return tags.some(isOf) && losers.includes(account) && (receiver === undefined || accounts[receiver] !== account);
  });
  if (row !== undefined) return row.change;
  const isKnown =
    tag <= program.known || program.harmless?.includes(interfaces) === true || program.rows.some(({ tags }) => tags.some(isOf));
  return isKnown ? null : 'unknown';
}

/** A batch is a list of calls, each with the number of its accounts and the length of its data before its data. */
function changeByBatch(
  program: string,
  accounts: readonly (string | undefined)[],
  data: Buffer,
  account: string,
): SolanaAccountChange | null {
  let rest = data.subarray(1);
  let left = accounts;
  while (rest.length > 0) {
    const [count = 0, length = 0] = rest;
    const inner = rest.subarray(2, 2 + length);
    // The programs accept no batch in a batch.
    if (inner.length < length || inner[0] === tokenBatch) return 'unknown';
    const change = changeBy({ program, accounts: left.slice(0, count), data: inner }, account);
    if (change !== null) return change;
    rest = rest.subarray(2 + length);
    left = left.slice(count);
  }
  return null;
}

/** The members of parsed calls that name who pays, receives or gains. */
const gaining: readonly string[] = ['source', 'destination', 'recipient', 'delegate', 'newAuthority', 'newAuthorized', 'base', 'mint'];

/** Returns what a call that a node parsed takes from an account; null: nothing that the table has. */
export function changeByParsed({ program: address, type, info }: ParsedCall, account: string): SolanaAccountChange | null {
  const row = programs.find(({ addresses }) => addresses.includes(address))?.rows.find(({ parsed }) => parsed.includes(type));
  const loses = Object.entries(info).some(
    ([name, value]) => !gaining.includes(name) && (value === account || (Array.isArray(value) && value.includes(account))),
  );
  const isReturned = row?.receiver !== undefined && info.destination === account;
  return row !== undefined && loses && !isReturned ? row.change : null;
}

/** Other programs that pass a signature on only to programs of the table: associated token accounts, lookup tables, memos. */
const confined: readonly string[] = [
  computeBudgetProgram,
  'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
  'AddressLookupTab1e1111111111111111111111111',
  'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo',
];

/**
 * Returns the first program that gets the account's signature and may pass it on to any other program; null: none does. The programs of
 * the table pass it on only to transfer and to create accounts, but Token-2022 calls the transfer hook of a mint with the signers that the
 * mint lists.
 */
export function strangerWith({ accounts, instructions }: Message, account: string): string | null {
  for (const { program, accounts: used } of instructions) {
    const address = accounts[program] ?? '';
    const isListed = address !== token2022Program && programs.some(({ addresses }) => addresses.includes(address));
    const isKnown = isListed || confined.includes(address);
    if (!isKnown && used.some((index) => accounts[index] === account)) return address;
  }
  return null;
}

/** Returns why the relayer's policies forbid what a message takes from its account, to follow the field's name; null if they allow it. */
export function forbiddenChangeIn({ accounts, instructions }: Message, relayer: Relayer): string | null {
  for (const [at, { program, accounts: used, data }] of instructions.entries()) {
    const call = { program: accounts[program] ?? '', accounts: used.map((index) => accounts[index]), data };
    const forbidden = forbiddenChange(changeBy(call, relayer.address), relayer);
    if (forbidden !== null) return `has an instruction ${at} that ${forbidden}`;
  }
  return null;
}

/** Returns why the policies forbid what a simulation shows, to follow the transaction; null if they allow it. */
export function forbiddenChangeAfter({ after, inner }: Effects, relayer: Relayer): string | null {
  const { address } = relayer;
  const changes = inner.map((call) => ('type' in call ? changeByParsed(call, address) : changeBy(call, address)));
  if (after !== null && after.owner !== systemProgram) changes.push('assign');
  if (after !== null && after.dataBytes > 0) changes.push('allocate');
  for (const change of changes) {
    const forbidden = forbiddenChange(change, relayer);
    if (forbidden !== null) return `calls a program that ${forbidden}`;
  }
  return null;
}

/** Returns why the policies forbid a change, to follow "that"; null if there is none or they allow it. */
export function forbiddenChange(change: SolanaAccountChange | null, { address, policies }: Relayer): string | null {
  if (change === null || onNetwork('solana', policies).allowAccountChanges.includes(change)) return null;
  return `takes away what ${address}, the relayer's account, can do (${change}), which the relayer's allow_account_changes does not name`;
}
