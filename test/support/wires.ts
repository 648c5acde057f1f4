import { DomainError } from '../../src/core/errors/errors.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';

/** What the node does with a call when the test releases it. */
export type AttemptOutcome = 'answered' | 'not_asked' | 'answer_lost';

/** A call on its way to the node, or an answer on its way back. */
export interface Travelling {
  readonly name: string;
  /** True if the node has acted and only the answer is missing. */
  readonly isAnswer: boolean;
  /** Moves it one step on. The node may still act on a call of a killed process. */
  letGo(outcome: AttemptOutcome): void;
}

/** The connection of one process to the node. */
export interface Connection {
  readonly chain: Chain;
  /** Cuts it: no answer arrives, but the node may still act on open calls. */
  kill(): void;
}

/** Calls the node. `lost` is the result if the answer is lost; without it that is an error. */
export type Ask = <T>(name: string, act: () => T, lost?: T) => Promise<T>;

/** The connections of processes to a node. The test decides when each answer arrives. */
export interface Wires {
  readonly travelling: readonly Travelling[];
  connect(chainAsking: (ask: Ask) => Chain): Connection;
}

/** Makes the connections. */
export function createWires(): Wires {
  const travelling: Travelling[] = [];
  return {
    travelling,
    connect(chainAsking) {
      let isAlive = true;
      function ask<T>(name: string, act: () => T, lost?: T): Promise<T> {
        return new Promise((resolve, reject) => {
          const unavailable = () => reject(new DomainError('unavailable', 'NODE_UNAVAILABLE', `no answer to ${name}`));
          const lose = () => (lost === undefined ? unavailable() : resolve(lost));
          const start = (leg: Travelling) => void travelling.push(leg);
          const end = (leg: Travelling) => void travelling.splice(travelling.indexOf(leg), 1);
          const question: Travelling = {
            name,
            isAnswer: false,
            letGo(outcome) {
              end(question);
              if (outcome === 'not_asked') return isAlive ? lose() : undefined;
              const answer = act();
              if (!isAlive) return;
              const way: Travelling = {
                name,
                isAnswer: true,
                letGo(outcome) {
                  end(way);
                  if (!isAlive) return;
                  if (outcome === 'answered') resolve(answer);
                  else lose();
                },
              };
              if (outcome === 'answer_lost') lose();
              else start(way);
            },
          };
          start(question);
        });
      }
      return {
        chain: chainAsking(ask),
        kill() {
          isAlive = false;
        },
      };
    },
  };
}
