import type { Chain } from '../../../src/core/ports/chain/chain.js';
import type { ContentRequest } from '../../../src/core/ports/chain/requests.js';
import type { DurationClock } from '../../../src/core/work/clock.js';
import type { Random } from '../../support/seeded-random.js';
import type { SimDatabase } from '../database.js';
import type { EventLog } from '../event-log.js';
import type { ChainParts, SimRelayer } from '../service.js';
import type { VirtualTime } from '../virtual-time.js';
import type { NetworkAuditor } from '../world.js';
import type { Story } from './cell-story.js';
import type { Forger } from './forger.js';
import type { Call, Reply } from './liar.js';

/** What a caller asks for in a cell. */
export interface Wish {
  /** Shows on the chain which request it is for. */
  readonly amount: bigint;
  readonly request: number;
  readonly validUntilMs?: number | undefined;
}

/** The true chain of a cell, its nodes, and the checks of what the service makes of them. */
export interface CellWorld {
  readonly one: SimRelayer;
  readonly auditor: NetworkAuditor & { received(hash: string): void };
  /** Makes the first block; each one after that comes by itself. */
  begin(): void;
  openChain(parts: ChainParts): Chain;
  /** What the node at this place answers to a request's body, if it does not lie. */
  answer(index: number, body: string): string;
  /** The answer of a node that numbers all its blocks but the first one otherwise, so that nothing that it says contradicts itself. */
  renumbered(call: Call, shift: bigint, own: (call: Call) => Reply): Reply;
  createForger(): Forger;
  /** The hashes of the signed transactions that a request's body sends. */
  broadcasts(body: string): readonly string[];
  content(wish: Wish): ContentRequest;
  /** Another service uses the key, if that can matter. */
  useKey(): Promise<void>;
  /** True if the slot of the second request is used on the chain. */
  isSecondSlotUsed(): boolean;
}

/** The parts of a world. */
export interface CellWorldParts {
  readonly story: Story;
  readonly random: Random;
  readonly time: VirtualTime;
  readonly clock: DurationClock;
  readonly log: EventLog;
  readonly database: SimDatabase;
  readonly orders: {
    requestOf(amount: bigint): number | undefined;
    accepted(): ReadonlyMap<string, number>;
    sent(): number;
  };
  /** Runs a task whose failure is that of the cell. */
  guarded(task: () => void): void;
}

/** A forger for networks whose nodes are caught by the blocks that they show. */
export const noForger: Forger = { answer: () => null };
