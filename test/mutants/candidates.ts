import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { equivalents } from './equivalent.js';
import { type Mutant, mutantsOf } from './mutate.js';

/** The rooms whose mistakes cost money, data or a stuck lane. The tests of a room have the same path below `test`. */
export const moneyRooms = [
  'api/contract',
  'chains/evm',
  'chains/rpc',
  'chains/solana',
  'chains/stellar',
  'core/access',
  'core/fees',
  'core/rules',
  'core/transaction',
  'engine',
  'signers',
  'storage',
  'webhooks',
] as const;

const otherRooms = [
  'api/rest',
  'api/rpc',
  'api/services',
  'app',
  'codec',
  'config',
  'core/network',
  'core/notification',
  'core/overview',
  'core/records',
  'core/relayer',
  'core/signer',
  'core/text',
  'core/work',
  'crypto',
  'json',
  'observability',
] as const;

export interface Candidate extends Mutant {
  readonly room: string;
  /** The built module, such as `dist/src/core/fees/price.js`. */
  readonly module: string;
  /** The number of the built line, from 1. */
  readonly lineNumber: number;
  /** The built line, without the spaces around it. */
  readonly line: string;
}

/** The mutants of a room, without those that were judged to be equivalent. */
function candidatesOf(room: string): Candidate[] {
  const folder = join('dist/src', room);
  const modules = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js'));
  return modules.sort().flatMap((file) => {
    const module = join(folder, file);
    const text = readFileSync(module, 'utf8');
    return mutantsOf(text)
      .map((mutant) => {
        const lineStart = text.lastIndexOf('\n', mutant.start - 1) + 1;
        const lineEnd = text.indexOf('\n', mutant.start);
        const line = text.slice(lineStart, lineEnd === -1 ? undefined : lineEnd).trim();
        return { ...mutant, room, module, lineNumber: text.slice(0, lineStart).split('\n').length, line };
      })
      .filter((candidate) => !isEquivalent(candidate));
  });
}

/**
 * Takes this many mutants, from each room in turn, so that a small room is as well tried as a large one. The seed decides which ones, by their texts: a
 * change of other lines leaves the choice as it is.
 */
export function choose(rooms: readonly string[], count: number, seed: number): Candidate[] {
  /** The same text in a module is told apart by its number, in the order of the module. */
  const ranksOf = (candidates: readonly Candidate[]): ReadonlyMap<Candidate, string> => {
    const seen = new Map<string, number>();
    return new Map(
      candidates.map((candidate) => {
        const { module, kind, line, replacement } = candidate;
        const text = JSON.stringify([module, kind, line, replacement]);
        const occurrence = seen.get(text) ?? 0;
        seen.set(text, occurrence + 1);
        return [candidate, hashOf([seed, module, kind, line, replacement, occurrence])];
      }),
    );
  };
  const ranked = rooms.map((room) => {
    const candidates = candidatesOf(room);
    const ranks = ranksOf(candidates);
    return candidates.sort((a, b) => ((ranks.get(a) ?? '') < (ranks.get(b) ?? '') ? -1 : 1));
  });
  const longest = Math.max(0, ...ranked.map(({ length }) => length));
  const inTurns = Array.from({ length: longest }, (_, index) => ranked.flatMap((candidates) => candidates[index] ?? []));
  return inTurns.flat().slice(0, count);
}

/** Thirty mutants: two thirds of the rooms where mistakes cost money. The seed decides which rooms come first. */
export function chooseThirty(seed: number): Candidate[] {
  const inOrder = (rooms: readonly string[]): string[] => {
    const rankOf = (room: string): string => hashOf([seed, room]);
    return [...rooms].sort((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1));
  };
  return [...choose(inOrder(moneyRooms), 20, seed), ...choose(inOrder(otherRooms), 10, seed)];
}

function hashOf(parts: readonly (number | string)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

function isEquivalent({ module, kind, line, replacement }: Candidate): boolean {
  return equivalents.some(
    (one) => join('dist/src', one.module) === module && one.kind === kind && one.line === line && one.replacement === replacement,
  );
}
