import Sqlite from 'better-sqlite3';
import pg from 'pg';
import { openStore } from '../src/storage/open-store.js';
import { startPostgres } from './support/postgres.js';
import { aTransaction, anAttempt, anEvent, next, silentLog, sampleLane } from './support/stored-samples.js';
const kind = process.argv[2];
const server = kind === 'pg' ? await startPostgres() : undefined;
const url = server ? await server.newDatabase() : 'sqlite:/tmp/scratch/scale.db';
let o = await openStore(url, { log: silentLog });
await o.store.close();
const N = 1_000_000;
const gen = server ? `generate_series(1,${N}) as g(n)` : `(with recursive g(n) as (select 1 union all select n+1 from g where n < ${N}) select n from g)`;
const content = JSON.stringify({ network: 'evm', to: null, valueWei: { $int: '0' }, data: null, gasLimit: null, pricing: { kind: 'speed', speed: 'fast' } });
const cast = server ? 'n::text' : 'n';
const sqls = [
  `insert into transactions (ordinal,id,relayer_id,chain,account,status,intent,content,created_at_ms,revision,live_version,mined_version) select n,'old-'||${cast},'relayer-1','${sampleLane.chain}','${sampleLane.account}',case when n % 100 = 0 then 'failed' else 'confirmed' end,'content','${content}',0,5,1,1 from ${gen}`,
  `insert into transaction_totals values ('relayer-1','confirmed',${N - N / 100}),('relayer-1','failed',${N / 100})`,
  `insert into attempts (transaction_id,version,chain,account,nonce,purpose,hash,raw,fields,created_at_ms) select 'old-'||${cast},1,'${sampleLane.chain}','${sampleLane.account}',${cast},'content','0x','0x','{}',0 from ${gen}`,
  `insert into events (id,notification_id,event,order_key,body,status,attempts,next_attempt_at_ms,created_at_ms,waits_behind) select 'old-'||${cast},'hook','transaction_update','k','{}','delivered',1,0,0,0 from ${gen}`,
];
console.log('filling');
if (server) { const c = new pg.Client(url); await c.connect(); for (const s of sqls) await c.query(s); await c.end(); }
else { const d = new Sqlite('/tmp/scratch/scale.db'); d.exec('begin'); for (const s of sqls) d.exec(s); d.exec('commit'); d.close(); }
o = await openStore(url, { log: silentLog });
const { store } = o;
async function time(name: string, f: () => Promise<unknown>, times = 7) {
  let best = 1e9; let worst = 0;
  for (let i = 0; i < times; i++) { const t = performance.now(); await f(); const d = performance.now() - t; best = Math.min(best, d); worst = Math.max(worst, d); }
  console.log(name.padEnd(50), best.toFixed(2), worst.toFixed(2), 'ms');
}
await time('write 1000 tx+event+attempt, then submitted', async () => {
  const r = Math.random();
  await Promise.all(Array.from({ length: 1000 }, async (_, i) => {
    const t = aTransaction({ id: `n-${r}-${i}` });
    await store.commit([store.change.insertTransaction(t), store.change.insertEvent(anEvent({ id: t.id + 'a', orderKey: t.id }))]);
    const t2 = next(t, { status: 'submitted', nonce: BigInt(i), liveVersion: 1 });
    await store.commit([store.change.updateTransaction(t2), store.change.insertAttempt(anAttempt({ transactionId: t.id, nonce: BigInt(Math.floor(r * 1e9)) * 10000000n + BigInt(i) })), store.change.insertEvent(anEvent({ id: t.id + 'b', orderKey: t.id }))]);
  }));
}, 10);
await time('transaction', () => store.read.transaction('old-5000'));
await time('page first', () => store.read.transactionsOf('relayer-1', [], { offset: 0, limit: 100 }));
await time('page deep', () => store.read.transactionsOf('relayer-1', [], { offset: 900_000, limit: 100 }));
await time('page failed', () => store.read.transactionsOf('relayer-1', ['failed'], { offset: 0, limit: 100 }));
await time('page failed+confirmed', () => store.read.transactionsOf('relayer-1', ['failed', 'confirmed'], { offset: 0, limit: 100 }));
await time('page confirmed deep', () => store.read.transactionsOf('relayer-1', ['confirmed'], { offset: 900_000, limit: 100 }), 3);
await time('page all statuses named deep', () => store.read.transactionsOf('relayer-1', ['confirmed','failed','submitted'], { offset: 900_000, limit: 100 }), 3);
await time('openTransactions (10k)', () => store.read.openTransactions(sampleLane));
await time('openLanes', () => store.read.openLanes());
await time('dueEvents 100', () => store.read.dueEvents(1, 100));
await time('dueEvents none', () => store.read.dueEvents(-1, 100));
await time('nextEvent', () => store.read.nextEventAtMs());
await time('attemptsOf', () => store.read.attemptsOf('old-77'));
await time('one commit', () => store.checkWritable(), 20);
const due = await store.read.dueEvents(1, 1000);
await time('deliver 1000', async () => { const d = await store.read.dueEvents(1, 1000); await Promise.all(d.map((e) => store.commit([store.change.updateEvent({ id: e.id, status: 'delivered', attempts: 1, nextAttemptAtMs: 0 })]))); }, 5);
await time('openTransactions empty lane', () => store.read.openTransactions({ chain: 'x', account: 'y' }));
await store.close(); await server?.stop();
