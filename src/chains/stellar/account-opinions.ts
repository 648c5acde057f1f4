import { lowerMedian, upperMedian } from '../../core/records/bigints.js';
import type { BlockMemory } from '../../core/work/block-memory.js';
import { remember } from '../../core/work/remember.js';
import type { Rpc } from '../rpc/rpc.js';
import { readAccount } from './account.js';
import type { LedgerRules } from './fee-rules.js';
import { questions } from './questions.js';
import type { Account, Level } from './read-entries.js';

/** An account as endpoints show it; null: it does not exist. */
interface Shown {
  readonly account: Account | null;
}

/**
 * Accounts by the word of more than one endpoint, once per head. Only what would stop transactions, or moves the account's number, is asked
 * of several. Methods throw `NODE_UNAVAILABLE`.
 */
export interface AccountOpinions {
  /** Reads an account at the endpoint of the head. Calls at the same time share the question. */
  shown(address: string): Promise<Account | null>;
  /** Reads an account at the endpoint of the head. If that is not as expected, several endpoints decide, if more than one is in use. */
  read(address: string, isExpected: (account: Account | null) => boolean): Promise<Account | null>;
  /**
   * Reads an account as several endpoints show it: the middle of three answers, field by field. Of two, the one with which more can be
   * sent: what nodes refuse costs less than an account that is stopped.
   */
  several(address: string): Promise<Account | null>;
  /**
   * Reads an account, and so its number, as most of three endpoints or more show it. If only two answer, which differ, the chain decides:
   * the number that a transaction with the account's signature has used counts, or one that an account can have. Null: it does not decide,
   * or fewer answer.
   */
  agreed(address: string): Promise<Shown | null>;
  /** Returns the known rules with the reserve that several endpoints show, if their newest ledgers have a readable header. */
  rules(known: LedgerRules): Promise<LedgerRules>;
  /** True if several endpoints refuse the next number of this account, so that it is not shown as it is. Calls no node. */
  isRefuted(address: string, account: Account | null): boolean;
  /** How far a number is above the last number that endpoints have agreed on; null: they have agreed on none. Calls no node. */
  stepsSince(address: string, sequence: bigint): bigint | null;
  /** Takes note of the number that endpoints agree on. Calls no node. */
  noteSequence(address: string, sequence: bigint): void;
}

const maxAccounts = 10_000;
/** Two of them outvote the third. */
const many = 3;

/** What the chain shows of an account's numbers. */
export interface NumberProofs {
  /** True if an endpoint shows a transaction with the account's signature that used its last number. */
  hasUsed(address: string, account: Account): Promise<boolean>;
  /** See `RefusedNumbers.has`. */
  isRefused(address: string, sequence: bigint): boolean;
}

/** Creates the opinions about the accounts of a network. */
export function createAccountOpinions(rpc: Rpc, memory: BlockMemory, { hasUsed, isRefused }: NumberProofs): AccountOpinions {
  const sequences = new Map<string, bigint>();
  const asked = new Map<string, Promise<Account | null>>();

  function shown(address: string): Promise<Account | null> {
    const answer = asked.get(address) ?? readAccount(rpc, address).finally(() => asked.delete(address));
    asked.set(address, answer);
    return answer;
  }

  const isRefuted = (address: string, account: Account | null) => account !== null && isRefused(address, account.sequence + 1n);

  /** What each endpoint shows. An endpoint whose answer is refuted counts as if it had shown the answer of another endpoint. */
  async function ask(address: string): Promise<readonly (Account | null)[]> {
    const newest = rpc.newestNumber();
    const words = await memory.recall(`account ${address} by several at ${newest}`, async () => {
      const answers = await rpc.opinions(questions.accounts([address], newest));
      return answers.map((found) => found.get(address) ?? null);
    });
    const [unrefuted] = words.filter((word) => !isRefuted(address, word));
    return unrefuted === undefined ? words : words.map((word) => (isRefuted(address, word) ? unrefuted : word));
  }

  const several = async (address: string) => middleOf(await ask(address));

  /** Of two answers about an account, returns the answer whose number the chain proves; null: it proves none. */
  async function provedOf(address: string, [one, other]: readonly (Account | null)[]): Promise<Shown | null> {
    if (one == null || other == null) return null;
    if (one.sequence === other.sequence) return { account: one };
    const [lower, higher] = one.sequence < other.sequence ? [one, other] : [other, one];
    if (!canHave(lower) && canHave(higher)) return { account: higher };
    const isUsed = await memory.recall(`use of ${higher.sequence} by ${address}`, () => hasUsed(address, higher));
    return isUsed ? { account: higher } : null;
  }

  return {
    shown,
    several,
    async read(address, isExpected) {
      const first = await readAccount(rpc, address);
      return isExpected(first) || rpc.isAlone() ? first : several(address);
    },
    async agreed(address) {
      const words = await ask(address);
      return words.length < many ? provedOf(address, words) : { account: middleOf(words) };
    },
    async rules(known) {
      if (rpc.isAlone()) return known;
      const reserve = await memory.recall(`base reserve by several at ${rpc.newestNumber()}`, async () => {
        const ledgers = await rpc.opinions(questions.latestLedger());
        return lowerMedian(ledgers.flatMap(({ rules }) => rules?.baseReserveStroops ?? []));
      });
      return { ...known, baseReserveStroops: reserve ?? known.baseReserveStroops };
    },
    isRefuted,
    stepsSince(address, sequence) {
      const known = sequences.get(address);
      return known === undefined ? null : sequence - known;
    },
    noteSequence: (address, sequence) => remember(sequences, address, sequence, maxAccounts),
  };
}

/** The numbers of an account begin at the number of its first ledger, shifted by this many bits. */
const ledgerBits = 32n;
/** An account uses fewer numbers in each ledger. */
const maxUsesPerLedger = 100n;

/** True if an account can have come to this number by sending transactions. */
function canHave({ sequence, ledger }: Account): boolean {
  const firstLedger = sequence >> ledgerBits;
  return firstLedger <= ledger && sequence - (firstLedger << ledgerBits) <= (ledger - firstLedger) * maxUsesPerLedger;
}

/** Combines what endpoints show of one account; see `AccountOpinions.several`. */
function middleOf(words: readonly (Account | null)[]): Account | null {
  const shown = words.filter((word) => word !== null);
  const [first] = shown;
  if (first === undefined || words.length > 2 * shown.length) return null;
  const low = (amountOf: (account: Account) => bigint, among = shown): bigint => lowerMedian(among.map(amountOf)) ?? amountOf(first);
  const high = (amountOf: (account: Account) => bigint): bigint => upperMedian(shown.map(amountOf)) ?? amountOf(first);
  const threshold = (level: Level): number => Number(low(({ thresholds }) => BigInt(thresholds[level])));
  const sequence = low((account) => account.sequence);
  const alike = shown.filter((account) => account.sequence === sequence);
  const used = alike.flatMap(({ sequenceLedger }) => sequenceLedger ?? []);
  return {
    sequence,
    sequenceLedger: 2 * used.length > alike.length ? (lowerMedian(used) ?? null) : null,
    balanceStroops: high(({ balanceStroops }) => balanceStroops),
    reservedEntries: low(({ reservedEntries }) => reservedEntries),
    sellingLiabilitiesStroops: low(({ sellingLiabilitiesStroops }) => sellingLiabilitiesStroops),
    keyWeight: Number(high(({ keyWeight }) => BigInt(keyWeight))),
    signers: first.signers,
    thresholds: { low: threshold('low'), medium: threshold('medium'), high: threshold('high') },
    ledger: low(({ ledger }) => ledger, alike),
  };
}
