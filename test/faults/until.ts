import type { CommonRecord, RelayerClient } from '../support/relayer-client.js';
import { waitFor } from '../support/wait-for.js';
import type { FaultRun } from './suite.js';

/** Statuses that never change again. */
export const finalStatuses: readonly string[] = ['confirmed', 'failed', 'expired', 'canceled'];

/** Resolves to the record when it meets the condition; fails with the record after `limitMs`. */
export async function untilRecord<R extends CommonRecord>(
  client: Pick<RelayerClient<R>, 'get'>,
  id: string,
  what: string,
  isAsWanted: (record: R) => boolean,
  limitMs = 30_000,
): Promise<R> {
  let last: R | undefined;
  return waitFor(
    what,
    async () => {
      last = await client.get(id);
      return isAsWanted(last) ? last : undefined;
    },
    limitMs,
  ).catch((error: unknown) => {
    throw new Error(`${error instanceof Error ? error.message : error}: ${JSON.stringify(last)}`);
  });
}

/** Resolves when all records have one of the statuses. */
export async function untilAll<R extends CommonRecord>(
  client: Pick<RelayerClient<R>, 'get'>,
  records: readonly R[],
  statuses: readonly string[],
  limitMs = 30_000,
): Promise<readonly R[]> {
  const deadline = Date.now() + limitMs;
  const reached: R[] = [];
  for (const { id } of records) {
    const isThere = ({ status }: R): boolean => statuses.includes(status);
    reached.push(await untilRecord(client, id, `${id} to be ${statuses.join(' or ')}`, isThere, Math.max(1, deadline - Date.now())));
  }
  return reached;
}

/** Waits until every record is final; those that are not within `limitMs` are a violation. Resolves to all records as they are then. */
export async function untilEverythingIsFinal<R extends CommonRecord>(
  run: Pick<FaultRun, 'violation'>,
  client: Pick<RelayerClient<R>, 'get' | 'list'>,
  limitMs: number,
): Promise<readonly R[]> {
  const oldestFirst = (await client.list()).toReversed();
  await untilAll(client, oldestFirst, finalStatuses, limitMs).catch(() => undefined);
  const records = await client.list();
  const open = records.filter(({ status }) => !finalStatuses.includes(status)).toReversed();
  if (open.length > 0)
    run.violation(`${open.length} of ${records.length} transactions are not final after ${limitMs} ms; the oldest are:`, open.slice(0, 3));
  return records;
}
