import { DomainError } from '../../../src/core/errors/errors.js';
import type { Relayer } from '../../../src/core/records/relayer.js';
import { cancelTransaction } from '../../../src/core/transaction/cancel-transaction.js';
import { replaceTransaction } from '../../../src/core/transaction/replace-transaction.js';
import { type SendDeps, sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import type { DurationClock } from '../../../src/core/work/clock.js';
import type { EventLog } from '../event-log.js';
import type { Service } from '../service.js';
import type { VirtualTime } from '../virtual-time.js';
import { at, type Story } from './cell-story.js';
import type { CellWorld, Wish } from './cell-world.js';

/** The callers of a cell: three payments, of which the second may be replaced, canceled or expire, and in a busy world some more. */
export interface CellCallers {
  /** The numbers of the accepted requests, by the id of their transaction. */
  readonly accepted: ReadonlyMap<string, number>;
  /** The id of the transaction of a request; undefined: it is not accepted. */
  idOf(request: number): string | undefined;
  isCalling(): boolean;
  areAllAccepted(): boolean;
  sendFirst(): void;
  sendOthers(): void;
  /** Replaces or cancels the second request, if the cell is about that. */
  act(): void;
  /** The process was killed, and with it its calls. */
  forgetCalls(): void;
}

/** The parts of callers. */
export interface CellCallersParts {
  readonly story: Story;
  readonly relayer: Relayer;
  readonly world: Pick<CellWorld, 'content'>;
  /** The process that runs now. */
  service(): Service;
  readonly time: VirtualTime;
  readonly clock: DurationClock;
  readonly log: EventLog;
  fail(error: unknown): void;
}

/** Creates the callers, who have sent nothing. */
export function createCellCallers({ story, relayer, world, service, time, clock, log, fail }: CellCallersParts): CellCallers {
  const { action } = story.cell;
  const accepted = new Map<string, number>();
  const ids = new Map<number, string>();
  let openCalls = 0;

  /** Calls the service until it accepts, as a caller does whose nodes are down, or show an empty account or a block that is not there. */
  function call<T>(what: string, make: (deps: SendDeps) => Promise<T>, then: (result: T) => void = () => undefined): void {
    log.write(what);
    const asked = service();
    openCalls += 1;
    make(asked.deps).then(
      (result) => {
        openCalls -= 1;
        log.write(`${what}: done`);
        then(result);
      },
      (error: unknown) => {
        openCalls -= 1;
        log.write(`${what}: ${error instanceof Error ? error.message : String(error)}`);
        if (!(error instanceof DomainError)) return fail(error);
        if (['NODE_UNAVAILABLE', 'INSUFFICIENT_FUNDS', 'TRANSACTION_MINED'].includes(error.reason) || asked !== service()) retry();
      },
    );
    function retry(): void {
      openCalls += 1;
      time.after(5_000, () => {
        openCalls -= 1;
        call(what, make, then);
      });
    }
  }

  function send(request: number, limits: Pick<Wish, 'validUntilMs'> = {}): void {
    call(
      `send ${request}`,
      (deps) => sendTransaction(deps, relayer, world.content({ amount: BigInt(request), request, ...limits })),
      ({ transaction }) => {
        accepted.set(transaction.id, request);
        ids.set(request, transaction.id);
      },
    );
  }

  return {
    accepted,
    idOf: (request) => ids.get(request),
    isCalling: () => openCalls > 0,
    areAllAccepted: () => accepted.size === 3 + story.more.length,
    sendFirst: () => send(1),
    sendOthers() {
      send(2, { validUntilMs: action === 'expiry' ? clock.nowMs() + at.validUntil - at.second : undefined });
      for (const request of story.more) send(request);
      send(3);
    },
    act() {
      const id = ids.get(2);
      if (id === undefined) return;
      if (action === 'replace')
        call('replace 2', (deps) => replaceTransaction(deps, relayer, id, world.content({ amount: 22n, request: 2 })));
      if (action === 'cancel') call('cancel 2', (deps) => cancelTransaction(deps, relayer, id));
    },
    forgetCalls() {
      openCalls = 0;
    },
  };
}
