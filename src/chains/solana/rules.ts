import type { Asker, Judgement } from '../../core/records/judgement.js';
import type { PartRule } from '../../core/records/spending-rule.js';
import { judgeParts, type PaidAmount, type RulePart } from '../../core/rules/judge-parts.js';
import { tokenPrograms } from './account-changes.js';
import { computeBudgetProgram } from './address.js';
import { systemPaymentBy } from './outflow.js';
import type { CompiledInstruction, Message } from './wire.js';

/*
 * Reads a message for the rules of its relayer. Whose account pays is the same to rules: a program takes an amount from an account for
 * which a signature of the message speaks. What programs do that other programs call is not visible.
 */

/** Returns what rules say about a message. `asker`: as in `judgeParts`. */
export function judge(rules: readonly PartRule[], message: Message, asker: Asker | null): Judgement {
  return judgeParts(rules, partsOf(message), asker, (text) => text);
}

/** What a lookup table holds is not known when a transaction is accepted. */
function unreadable(field: string): RulePart {
  return { field, kind: null, isCall: () => false, receivers: [], paid: null };
}

/** The compute budget needs no rule: it decides about the fee, which has a policy of its own. */
function partsOf(message: Message): readonly RulePart[] {
  const parts = message.instructions.flatMap((instruction, index) =>
    message.accounts[instruction.program] === computeBudgetProgram ? [] : [partOf(`instructions[${index}]`, message, instruction)],
  );
  return parts.length === 0 ? [unreadable('instructions')] : parts;
}

function partOf(field: string, message: Message, instruction: CompiledInstruction): RulePart {
  const { accounts } = message;
  const program = accounts[instruction.program];
  const used = instruction.accounts.flatMap((index) => accounts[index] ?? []);
  if (program === undefined || used.length < instruction.accounts.length) return unreadable(field);
  const data = Buffer.from(instruction.data);
  const hex = data.toString('hex');
  const { to, paid } = tokenPrograms.includes(program) ? tokenPaymentBy(used, data) : nativePaymentBy(message, instruction);
  return { field, kind: program, isCall: (prefix) => hex.startsWith(prefix), receivers: to === undefined ? [] : [to], paid };
}

interface Payment {
  readonly to: string | undefined;
  readonly paid: PaidAmount | null;
}

function nativePaymentBy(message: Message, instruction: CompiledInstruction): Payment {
  const payment = systemPaymentBy(message, instruction);
  if (payment === null) return { to: undefined, paid: null };
  const { to, lamports } = payment;
  return { to, paid: lamports === null ? null : { asset: 'native', amount: lamports, mustBeNamed: false } };
}

const [transfer, closeAccount, transferChecked] = [3, 9, 12];

/** A `Transfer` does not name its mint, and what closing an account pays is not in the instruction. */
function tokenPaymentBy(used: readonly string[], data: Buffer): Payment {
  const [tag] = data;
  if (tag === transfer || tag === closeAccount) return { to: used[1], paid: null };
  const [, mint, to] = used;
  if (tag !== transferChecked || mint === undefined) return { to: undefined, paid: null };
  return { to, paid: data.length < 10 ? null : { asset: mint, amount: data.readBigUInt64LE(1), mustBeNamed: false } };
}
