import pg from 'pg';
import { serialize } from 'pg-protocol';
import type { Step } from '../sql/bound-change.js';
import type { SqlValue } from '../sql/statement.js';

/** A statement with its values, as a pipeline sends it. */
export type SentStep = Pick<Step, 'statement' | 'values'>;

/** The result of one pipeline. The server runs its steps in order and skips those after the first that fails. */
export interface StepsRun {
  /** The number of rows that each step affected that ran, in order; 0 for a statement that affects none by its kind. */
  readonly rowCounts: readonly number[];
  /**
   * Why the step after those failed, or what happened after all of them: an error of the server, or of the connection; null: all steps ran.
   */
  readonly error: Error | null;
}

/** Text for a parameter, which PostgreSQL reads as a value of the parameter's type. */
function parameterText(value: SqlValue): string | null {
  return value === null ? null : String(value);
}

/** The number at the end of a command tag such as "UPDATE 1" or "INSERT 0 1". */
function rowCountOf(tag: string): number {
  return Number(tag.slice(tag.lastIndexOf(' ') + 1)) || 0;
}

/**
 * Several statements as one query of `pg`: for each a Bind and an Execute message, then one Sync, in one write to the socket. As a query
 * for each, a statement costs twice the messages, a write to the socket, a timer and a promise.
 */
class Pipeline extends pg.Query {
  readonly rowCounts: number[] = [];
  readonly #steps: readonly SentStep[];
  readonly #prepared: Set<string>;

  /** `prepared`: the names of the statements that the connection has prepared; the pipeline adds what it prepares. */
  constructor(steps: readonly SentStep[], prepared: Set<string>, callback: (error: Error | null | undefined) => void) {
    super('', [], callback);
    this.#steps = steps;
    this.#prepared = prepared;
  }

  /** Called by `pg` when it is the turn of this query to be sent. Returns why it cannot be sent; null: it is sent. */
  override submit = ({ stream }: pg.Connection): Error | null => {
    try {
      // If the connection has ended, `pg` tells each query that waits.
      if (stream.writable) stream.write(this.#messages());
      return null;
    } catch (error) {
      // Thrown, it would leave the timer of the query behind, which then ends the connection under another query.
      return error instanceof Error ? error : new Error(String(error));
    }
  };

  #messages(): Buffer {
    const messages: Buffer[] = [];
    const preparing = new Set<string>();
    for (const { statement, values } of this.#steps) {
      const { name, sql } = statement;
      if (!this.#prepared.has(name) && !preparing.has(name)) {
        // An earlier pipeline may have prepared it and then failed. To close what does not exist is no error.
        messages.push(serialize.close({ type: 'S', name }), serialize.parse({ name, text: sql }));
        preparing.add(name);
      }
      messages.push(serialize.bind({ statement: name, values: [...values], valueMapper: parameterText }), serialize.execute());
    }
    messages.push(serialize.sync());
    return Buffer.concat(messages);
  }

  /** Called by `pg` when a statement has ended. */
  handleCommandComplete({ text }: { readonly text: string }): void {
    const step = this.#steps[this.rowCounts.length];
    if (step !== undefined) this.#prepared.add(step.statement.name);
    this.rowCounts.push(rowCountOf(text));
  }
}

/**
 * Makes the function that sends steps to one connection, all at once, and resolves when all have ended; only then it may be called again.
 * No step may return rows. The connection must pipeline. It is ended if the server answers more or fewer statements than were sent.
 */
export function createPipelines(client: pg.Client): (steps: readonly SentStep[]) => Promise<StepsRun> {
  const prepared = new Set<string>();
  return (steps) =>
    new Promise((resolve) => {
      const pipeline: Pipeline = new Pipeline(steps, prepared, (error) => {
        const { rowCounts } = pipeline;
        if (error == null && rowCounts.length !== steps.length) {
          const outOfStep = new Error(`the database answered ${rowCounts.length} of ${steps.length} statements`);
          client.connection.stream.destroy(outOfStep);
          resolve({ rowCounts, error: outOfStep });
        } else {
          resolve({ rowCounts, error: error ?? null });
        }
      });
      client.query(pipeline);
    });
}
