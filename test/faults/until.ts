import type { RelayerClient, TransactionRecord } from '../support/relayer-client.js';
import { waitFor } from '../support/wait-for.js';
import type { FaultRun } from './suite.js';

/** Statuses that never change again. */
export const finalStatuses: readonly string[] = ['confirmed', 'failed', 'expired', 'canceled'];

/** Resolves to the record when it is as wanted; fails with the record as it is after `limitMs`. */
export async function untilRecord(
  client: RelayerClient,
  id: string,
  what: string,
  isAsWanted: (record: TransactionRecord) => boolean,
  limitMs = 30_000,
): Promise<TransactionRecord> {
  let last: TransactionRecord | undefined;
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
export async function untilAll(
  client: RelayerClient,
  records: readonly TransactionRecord[],
  statuses: readonly string[],
  limitMs = 30_000,
): Promise<readonly TransactionRecord[]> {
  const deadline = Date.now() + limitMs;
  const reached: TransactionRecord[] = [];
  for (const { id } of records) {
    const isThere = ({ status }: TransactionRecord): boolean => statuses.includes(status);
    reached.push(await untilRecord(client, id, `${id} to be ${statuses.join(' or ')}`, isThere, Math.max(1, deadline - Date.now())));
  }
  return reached;
}

/** Waits until every record is final; those that are not within `limitMs` are a violation. Resolves to all records as they are then. */
export async function untilEverythingIsFinal(
  run: Pick<FaultRun, 'violation'>,
  client: RelayerClient,
  limitMs: number,
): Promise<readonly TransactionRecord[]> {
  const oldestFirst = (await client.list()).toReversed();
  await untilAll(client, oldestFirst, finalStatuses, limitMs).catch(() => undefined);
  const records = await client.list();
  const open = records.filter(({ status }) => !finalStatuses.includes(status)).toReversed();
  if (open.length > 0)
    run.violation(`${open.length} of ${records.length} are not final after ${limitMs} ms; the oldest:`, open.slice(0, 3));
  return records;
}
