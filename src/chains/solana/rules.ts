import type { Judged, Judgement } from '../../core/records/judgement.js';
import type { CostBound, PartRule } from '../../core/records/spending-rule.js';
import { matchIf } from '../../core/rules/deciding-rule.js';
import {
  type Canonical,
  costBoundOfParts,
  judgeParts,
  mayBeBound,
  nativeOf,
  type RuledTransaction,
  type RulePart,
} from '../../core/rules/judge-parts.js';
import { ruleShapes } from '../../core/rules/part-rule-problems.js';
import { token2022Program, tokenPrograms } from './account-changes.js';
import { computeBudgetProgram } from './address.js';
import { namedFeeLamports } from './compute-budget.js';
import { paysNothing, systemPaymentBy } from './outflow.js';
import type { CompiledInstruction, Message } from './wire.js';

/*
 * Reads a message for the rules of its relayer. Whose account pays is the same to rules: a program takes an amount from an account for
 * which a signature of the message speaks. What programs do that other programs call is not visible, but each account that an instruction
 * pays is among its accounts, of which those in a lookup table are not known when a transaction is accepted.
 */

/** Returns what rules say about a message. */
export function judge(rules: readonly PartRule[], message: Message, asker: Judged): Judgement {
  return judgeParts(rules, transactionOf(message), asker, asItIs);
}

/** What a rule lets an attempt cost. */
export interface Costs {
  /** Null: any amount. */
  readonly bound: CostBound | null;
  /** The SOL that it pays, as far as that shows. */
  readonly valueLamports: bigint;
}

/** Returns what an accepted message may cost: see `costBoundOfParts`. `stored`: its bound when it was accepted. */
export function costsOf(
  message: Message,
  {
    rules,
    stored,
    approvals,
  }: { readonly rules: readonly PartRule[] | null; readonly stored: CostBound | undefined; readonly approvals: number },
): Costs {
  if (!mayBeBound(rules, stored)) return { bound: null, valueLamports: 0n };
  const sent = transactionOf(message);
  const bound = costBoundOfParts(rules, sent, { stored, asker: approvals > 0 ? 'approved' : null }, asItIs);
  return { bound, valueLamports: nativeOf(sent) };
}

const asItIs: Canonical = (text) => text;

function transactionOf(message: Message): RuledTransaction {
  return { parts: partsOf(message), leastFee: namedFeeLamports(message) };
}

/** The compute budget needs no rule: it decides about the fee, which has a policy of its own. */
function partsOf(message: Message): readonly RulePart[] {
  const parts = message.instructions.flatMap((instruction, index) =>
    message.accounts[instruction.program] === computeBudgetProgram ? [] : [partOf(`instructions[${index}]`, message, instruction)],
  );
  return parts.length === 0 ? [nothing] : parts;
}

/** A transaction that pays its fee alone. */
const nothing: RulePart = {
  ...{ field: 'instructions', kind: computeBudgetProgram, isCall: () => 'no' },
  ...{ receivers: [], mayPay: [], isTrade: false, paid: [], gets: [], native: 0n, isNativeKnown: true },
};

function partOf(field: string, message: Message, instruction: CompiledInstruction): RulePart {
  // The runtime takes no program from a lookup table.
  const program = message.accounts[instruction.program] ?? null;
  const data = Buffer.from(instruction.data);
  const hex = data.toString('hex');
  const payment = paymentBy(message, instruction, program);
  return {
    ...{ field, kind: program, isCall: (prefix) => matchIf(hex.startsWith(prefix)), isTrade: false, gets: [] },
    ...payment,
    native: payment.paid?.reduce((sum, { asset, amount }) => (asset === 'native' ? sum + amount : sum), 0n) ?? 0n,
    isNativeKnown: payment.paid !== null,
  };
}

type Payment = Pick<RulePart, 'receivers' | 'mayPay' | 'paid'>;

const [transfer, closeAccount, transferChecked] = [3, 9, 12];
/** The source, the mint, the destination and the authority; more are signers, or accounts for the programs of the mint. */
const plainAccounts = 4;

function paymentBy(message: Message, instruction: CompiledInstruction, program: string | null): Payment {
  const used = instruction.accounts.map((index) => message.accounts[index]);
  const known = used.flatMap((account) => account ?? []);
  const anyOfThem = known.length < used.length ? null : known;
  const payment = systemPaymentBy(message, instruction);
  if (payment !== null) {
    const { to, lamports } = payment;
    const paid = lamports === null ? null : [{ asset: 'native', name: 'native', amount: lamports, mustBeNamed: false }];
    return { ...paidTo(to), paid };
  }
  if (paysNothing(message, instruction) || ruleShapes.solana.silent.includes(program ?? '')) return { receivers: [], mayPay: [], paid: [] };
  const unread: Payment = { receivers: [], mayPay: anyOfThem, paid: null };
  if (!tokenPrograms.includes(program ?? '')) return unread;
  const data = Buffer.from(instruction.data);
  const [tag] = data;
  // A `Transfer` does not name its mint, and what closing an account pays is not in the instruction.
  if (tag === transfer || tag === closeAccount) return { ...paidTo(used[1]), paid: null };
  const [, mint, to] = used;
  if (tag !== transferChecked || used.length < plainAccounts) return unread;
  const callsOthers = program === token2022Program && used.length > plainAccounts;
  const amount = data.length < 10 ? null : data.readBigUInt64LE(1);
  const isRead = amount !== null && mint !== undefined;
  return {
    ...paidTo(to),
    ...(callsOthers ? { mayPay: anyOfThem } : {}),
    paid: isRead ? [{ asset: mint, name: mint, amount, mustBeNamed: program === token2022Program }] : null,
  };
}

/** Undefined: a lookup table holds the account, or there is none. */
function paidTo(to: string | undefined): Pick<Payment, 'receivers' | 'mayPay'> {
  return to === undefined ? { receivers: [], mayPay: null } : { receivers: [to], mayPay: [] };
}
