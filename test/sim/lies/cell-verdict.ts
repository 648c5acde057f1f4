import type { SimDatabase } from '../database.js';
import { finals, require, Violation } from '../records.js';
import type { Service } from '../service.js';
import type { CellCallers } from './cell-callers.js';
import { at, healMs, held, type Story } from './cell-story.js';
import type { CellWorld } from './cell-world.js';
import { shifts } from './oddities.js';

/** Everything is final within this time after the last request if one endpoint is honest, or after the lies. */
const maxHealingMs = 300_000;
/** A slot that can be freed is freed within this time although the only endpoint lies. */
const maxFreeingMs = 180_000;

/** What the records of a cell must show. */
export interface CellVerdict {
  /** Throws `Violation` if something takes too long. Returns true if the cell has ended. */
  hasEnded(elapsedMs: number): boolean;
  /** Throws `Violation` unless the records show what the callers asked for. */
  requireExpected(): void;
  /** From the last request, or the end of the lies without an honest endpoint. */
  healingMs(elapsedMs: number): number;
}

/** The parts of a verdict. */
export interface CellVerdictParts {
  readonly story: Story;
  readonly database: Pick<SimDatabase, 'query'>;
  readonly callers: Pick<CellCallers, 'accepted' | 'idOf' | 'isCalling' | 'areAllAccepted'>;
  readonly world: Pick<CellWorld, 'isSecondSlotUsed'>;
  service(): Service;
  /** Ends the lies. */
  heal(): void;
}

/** Creates the verdict. */
export function createCellVerdict({ story, database, callers, world, service, heal }: CellVerdictParts): CellVerdict {
  const { roles, hasHonest, isEnding } = story;
  const { subject, oddity, action } = story.cell;
  const { accepted } = callers;
  let sinceMs = hasHonest ? held.surgeUntilMs : healMs;

  const rowOf = (id: string | undefined) =>
    database.query<{ status: string; status_reason: string | null; failure_reason: string | null }>(
      'select status, status_reason, failure_reason from transactions where id = ?',
      id ?? '',
    )[0];
  const isFinal = (id: string | undefined): boolean => finals.includes(rowOf(id)?.status ?? '');
  const isIdle = (): boolean =>
    service().isReady() && [...service().engine.lanes()].every(({ waiting, inFlight }) => waiting + inFlight === 0);
  const areAllFinal = (): boolean => callers.areAllAccepted() && !callers.isCalling() && [...accepted.keys()].every(isFinal) && isIdle();

  // An account without balance cannot pay for a self-transfer, and the only endpoint says that it has none.
  const isBroke = subject.name === 'balance' && oddity === '0';
  const mustFree = !hasHonest && subject.isDispensable !== false && isEnding && !isBroke;
  const isFreed = (): boolean => (subject.isDispensable === true ? isFinal(callers.idOf(2)) : world.isSecondSlotUsed());

  /** With one endpoint, a refusal counts after a while, and an estimate decides the gas. */
  function mayFail(status: string, id: string): boolean {
    if (status !== 'failed' || !['gasEstimate', 'dryRun', 'simulation', 'receipt', 'blockReceipts'].includes(subject.question))
      return false;
    return subject.question === 'gasEstimate' || id !== callers.idOf(1);
  }

  // Nobody can know which of two endpoints is right about a status, or about the numbers of all blocks of a network whose blocks are not
  // compared by their hashes, or whether one that does not answer has the attempt.
  const isUndecidable =
    roles.filter((role) => role === 'honest').length === 1 &&
    (subject.amount === 'status' || subject.needsTwo || (subject.network !== 'evm' && oddity in shifts));
  let isHealed = false;

  /** While nobody can know, records wait, and say why. */
  function isDisputed(): boolean {
    if (!isUndecidable || isHealed || !callers.areAllAccepted()) return false;
    return [...accepted.keys()].every((id) => isFinal(id) || /RPC nodes (show|agree|are on)/.test(rowOf(id)?.status_reason ?? ''));
  }

  return {
    hasEnded(elapsedMs) {
      if (mustFree && elapsedMs > at.act + maxFreeingMs && elapsedMs < healMs && !isFreed())
        throw new Violation(
          `the slot of request 2 is not freed within ${maxFreeingMs / 1_000} s: ${rowOf(callers.idOf(2))?.status_reason}`,
        );
      if (elapsedMs - sinceMs > maxHealingMs) {
        if (isDisputed()) {
          heal();
          isHealed = true;
          sinceMs = elapsedMs;
          return false;
        }
        const states = [...accepted].map(([id, request]) => `${request} is ${rowOf(id)?.status}: ${rowOf(id)?.status_reason}`).join('; ');
        throw new Violation(`not everything is final ${maxHealingMs / 60_000} minutes later: ${states}`);
      }
      return elapsedMs >= at.act + 1_000 && areAllFinal();
    },
    requireExpected() {
      for (const [id, request] of accepted) {
        const { status = 'missing', status_reason: reason = null } = rowOf(id) ?? {};
        const isReverting = request === 3 && subject.world === 'reverting';
        const isEnded = request === 2 && isEnding;
        if (!hasHonest && mayFail(status, id)) continue;
        const ends = isEnded ? ['confirmed', action === 'cancel' ? 'canceled' : 'expired'] : [isReverting ? 'failed' : 'confirmed'];
        require(ends.includes(status), () => `request ${request} is ${status}: ${reason}`);
      }
    },
    healingMs: (elapsedMs) => Math.max(0, elapsedMs - sinceMs),
  };
}
