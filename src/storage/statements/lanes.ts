import { type Kysely, sql } from 'kysely';
import type { LaneChanges, LaneReads } from '../../core/ports/store/lanes.js';
import type { LaneId } from '../../core/records/transaction.js';
import { BoundChange, guarded, step } from '../sql/bound-change.js';
import type { Schema } from '../sql/schema.js';
import { pick, type Query, statement } from '../sql/statement.js';

/** Statements on lanes and chains. */
export function laneStatements(db: Kysely<Schema>) {
  /** The version of the one row of a lane; null: the lane has none. */
  const newestVersion = ({ chain, account }: LaneId) =>
    sql<number>`(select max(newest.version) from lane_nonces as newest where newest.chain = ${chain} and newest.account = ${account})`;

  return {
    open: statement<LaneId & { next_nonce: string }, never>('lane_nonces_open', (values) =>
      db
        .insertInto('lane_nonces')
        .columns(['chain', 'account', 'version', 'next_nonce'])
        .expression(
          db
            .selectNoFrom([
              sql<string>`cast(${values.chain} as text)`.as('chain'),
              sql<string>`cast(${values.account} as text)`.as('account'),
              sql.lit(0).as('version'),
              sql<string>`cast(${values.next_nonce} as text)`.as('next_nonce'),
            ])
            .where(newestVersion(values), 'is', null),
        )
        .onConflict((conflict) => conflict.columns(['chain', 'account', 'version']).doNothing()),
    ),

    /** Affects no row if another writer has moved the lane: the version of its row is another one then. */
    move: statement<LaneId & { from: string; to: string }, never>('lane_nonces_move', (values) =>
      db
        .updateTable('lane_nonces')
        .set((eb) => ({ version: eb('version', '+', sql.lit(1)), next_nonce: values.to }))
        .where('chain', '=', values.chain)
        .where('account', '=', values.account)
        .where('version', '=', newestVersion(values))
        .where('next_nonce', '=', values.from),
    ),

    nextNonce: statement<LaneId, { next_nonce: string }>('lane_nonces_next', (values) =>
      db
        .selectFrom('lane_nonces')
        .select('next_nonce')
        .where('chain', '=', values.chain)
        .where('account', '=', values.account)
        .orderBy('version', 'desc')
        .limit(sql.lit(1)),
    ),

    /** Affects one row if the chain is new or has this genesis block, and none if it has another. */
    insertChain: statement<{ chain: string; genesis_hash: string }, never>('chains_insert', (values) =>
      db
        .insertInto('chains')
        .values(pick(values, ['chain', 'genesis_hash']))
        .onConflict((conflict) =>
          conflict
            .column('chain')
            .doUpdateSet((eb) => ({ genesis_hash: eb.ref('excluded.genesis_hash') }))
            .whereRef('chains.genesis_hash', '=', 'excluded.genesis_hash'),
        ),
    ),

    noteCallerSignature: statement<{ hash: string }, never>('caller_signatures_note', (values) =>
      db
        .insertInto('caller_signatures')
        .values(pick(values, ['hash']))
        .onConflict((conflict) => conflict.column('hash').doNothing()),
    ),

    useCallerSignature: statement<{ hash: string; transaction_id: string }, never>('caller_signatures_use', (values) =>
      db
        .updateTable('caller_signatures')
        .set({ transaction_id: values.transaction_id })
        .where('hash', '=', values.hash)
        .where('transaction_id', 'is', null),
    ),

    callerSignature: statement<{ hash: string }, { transaction_id: string | null }>('caller_signatures_by_hash', (values) =>
      db.selectFrom('caller_signatures').select('transaction_id').where('hash', '=', values.hash),
    ),

    genesisHash: statement<{ chain: string }, { genesis_hash: string }>('chains_genesis_hash', (values) =>
      db.selectFrom('chains').select('genesis_hash').where('chain', '=', values.chain),
    ),
  };
}

type Statements = ReturnType<typeof laneStatements>;

/** Queries of lanes and chains. */
export function laneReads(lanes: Statements, query: Query): LaneReads {
  return {
    nextNonce: async ({ chain, account }) => {
      const [lane] = await query(lanes.nextNonce, { chain, account });
      return lane === undefined ? undefined : BigInt(lane.next_nonce);
    },
    genesisHash: async (chain) => (await query(lanes.genesisHash, { chain }))[0]?.genesis_hash,
    callerSignature: async (hash) => {
      const [row] = await query(lanes.callerSignature, { hash });
      return row === undefined ? undefined : { transactionId: row.transaction_id };
    },
  };
}

/** Changes of lanes and chains. */
export function laneChanges(lanes: Statements): LaneChanges {
  return {
    openLane: ({ chain, account }, nextNonce) =>
      new BoundChange('openLane', [step(lanes.open, { chain, account, next_nonce: nextNonce.toString() })]),
    moveLane: ({ chain, account }, from, to) =>
      new BoundChange('moveLane', [guarded(lanes.move, { chain, account, from: from.toString(), to: to.toString() })]),
    noteCallerSignature: (hash) => new BoundChange('noteCallerSignature', [step(lanes.noteCallerSignature, { hash })]),
    useCallerSignature: (hash, transactionId) =>
      new BoundChange('useCallerSignature', [guarded(lanes.useCallerSignature, { hash, transaction_id: transactionId })]),
    insertChain: (chain, genesisHash) => new BoundChange('insertChain', [guarded(lanes.insertChain, { chain, genesis_hash: genesisHash })]),
  };
}
