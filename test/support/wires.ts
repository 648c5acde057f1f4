import { DomainError } from '../../src/core/errors.js';
import type { Chain } from '../../src/core/ports/chain.js';

/** What a node does with a question when it is let go. */
export type AttemptOutcome = 'answered' | 'not_asked' | 'answer_lost';

/** A question on its way to the node, or an answer on its way back. */
export interface Travelling {
  readonly name: string;
  /** True: the node has acted, only its answer is under way. */
  readonly isAnswer: boolean;
  /** Lets it go on by one leg. A question whose asker is dead may still be acted upon, as a packet that was sent. */
  letGo(outcome: AttemptOutcome): void;
}

/** One process's connection to the node. */
export interface Connection {
  readonly chain: Chain;
  /** No answer comes any more; what was asked may still be done. */
  kill(): void;
}

/** Asks the node; `lost` is what the asker makes of an answer that never came, which else is an error. */
export type Ask = <T>(name: string, act: () => T, lost?: T) => Promise<T>;

/** The wires between processes and a node, on which every answer comes when the test says so. */
export interface Wires {
  readonly travelling: readonly Travelling[];
  connect(chainAsking: (ask: Ask) => Chain): Connection;
}

/** Makes them. */
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
