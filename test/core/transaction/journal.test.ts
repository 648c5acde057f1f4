import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { StoreAwayError } from '../../../src/core/ports/store/change.js';
import { type Meter, noMeter, noTelemetry, type SpanStart, type Tracer } from '../../../src/core/ports/telemetry.js';
import { createJournal } from '../../../src/core/transaction/journal.js';
import { healthWithoutFile } from '../../../src/core/work/log.js';
import { commitPlanned } from '../../../src/engine/lane/commit-moves.js';
import { anAttempt, aTransaction, next } from '../../support/stored-samples.js';

const traceParent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const id = 'tx-1';

/** A journal and its records. */
function recorded(nowMs = 5_000) {
  const lines: Record<string, unknown>[] = [];
  const counts: string[] = [];
  const spans: (SpanStart & { name: string; failure: string | null })[] = [];
  const meter: Meter = {
    ...noMeter,
    statusReached: (relayer, status) => void counts.push(`${relayer} ${status}`),
    attemptStored: (relayer, kind) => void counts.push(`${relayer} signed for ${kind}`),
  };
  const tracer: Tracer = {
    begin: (name, start) => ({ traceParent, end: (failure = null) => void spans.push({ ...start, name, failure }) }),
    within: (_span, task) => task(),
    current: () => null,
  };
  const write = (fields: object) => void lines.push(fields as Record<string, unknown>);
  const audited: object[] = [];
  const audit = {
    audit: (fields: object) => void audited.push(fields),
    isAuditInLog: false,
    auditHealth: healthWithoutFile,
    keepAuditLines: () => undefined,
  };
  const log = { debug: write, info: write, warn: write, error: write, ...audit };
  return { journal: createJournal({ log, telemetry: { meter, tracer }, clock: { nowMs: () => nowMs } }), lines, counts, spans, audited };
}

const pending = aTransaction({ id, traceParent });
const first = anAttempt({ transactionId: id });
const sent = next(pending, { status: 'sent', nonce: 0n, liveVersion: 1 });

test('journal: logs and counts each change of status, and nothing else', () => {
  const { journal, lines, counts } = recorded();
  journal.accepted(pending, { requestId: 'r-1', traceParent, apiKeyId: null });
  journal.moved(pending, { steps: [next(pending, { statusReason: 'waits' })] }, { transaction: pending, attempts: [] });
  journal.moved(pending, { steps: [sent], newAttempt: first }, { transaction: sent, attempts: [first] });
  const common = { relayer: 'relayer-1', transaction: id, reason: null, traceId: '0af7651916cd43dd8448eb211c80319c' };
  assert.deepEqual(lines, [
    { ...common, from: null, to: 'pending', hash: null, requestId: 'r-1' },
    { ...common, from: 'pending', to: 'sent', hash: first.hash, requestId: null },
  ]);
  assert.deepEqual(counts, ['relayer-1 pending', 'relayer-1 signed for content', 'relayer-1 sent']);
});

test('journal: records several steps of one commit one by one', () => {
  const { journal, lines } = recorded();
  const mined = next(sent, { status: 'mined', mined: { version: 1, blockNumber: 1n, blockHash: '0x', succeeded: true, facts: null } });
  const confirmed = next(mined, { status: 'confirmed' });
  journal.moved(sent, { steps: [mined, confirmed] }, { transaction: confirmed, attempts: [first] });
  assert.deepEqual(
    lines.map(({ from, to, hash }) => [from, to, hash]),
    [
      ['sent', 'mined', first.hash],
      ['mined', 'confirmed', first.hash],
    ],
  );
});

test('journal: an attempt that only bids more is an escalation; one with new content or another purpose is not', () => {
  const { journal, counts } = recorded();
  const second = anAttempt({ transactionId: id, version: 2 });
  const signAgain = (over: Parameters<typeof next>[1], purpose: 'content' | 'cancel') => {
    const after = next(sent, { liveVersion: 2, ...over });
    journal.moved(sent, { steps: [after], newAttempt: { ...second, purpose } }, { transaction: after, attempts: [first, second] });
  };
  signAgain({}, 'content');
  signAgain({ content: { ...sent.content } }, 'content');
  signAgain({ intent: 'cancel' }, 'cancel');
  assert.deepEqual(counts, ['relayer-1 signed for escalation', 'relayer-1 signed for content', 'relayer-1 signed for cancel']);
});

test('journal: a delay that a commit reports is logged and counted once; a step on the usual way is for debugging', () => {
  const counts: string[] = [];
  const lines: unknown[] = [];
  const keep = (level: string) => (fields: object, message: string) => void lines.push([level, message, fields]);
  const meter: Meter = { ...noMeter, delayed: (relayer) => void counts.push(relayer) };
  const audit = { audit: () => undefined, isAuditInLog: false, auditHealth: healthWithoutFile, keepAuditLines: () => undefined };
  const log = { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error'), ...audit };
  const journal = createJournal({ log, telemetry: { ...noTelemetry, meter }, clock: { nowMs: () => 0 } });
  const late = next(sent, { statusReason: 'waiting: funds', delays: { kinds: ['waiting: funds'], lastAtMs: 7 } });
  journal.moved(sent, { steps: [late, next(late, { statusReason: 'waiting: 2' })] }, { transaction: late, attempts: [first] });
  const fields = { relayer: 'relayer-1', transaction: id, status: 'sent', reason: 'waiting: funds' };
  assert.deepEqual([counts, lines], [['relayer-1'], [['info', 'transaction delayed', fields]]]);
  lines.length = 0;
  const mined = next(sent, { status: 'mined', mined: { version: 1, blockNumber: 1n, blockHash: '0x', succeeded: true, facts: null } });
  const submitted = next(sent, { status: 'submitted' });
  for (const [from, to] of [
    [pending, sent],
    [sent, submitted],
    [pending, submitted],
    [submitted, mined],
    [mined, submitted],
    [mined, next(mined, { status: 'confirmed' })],
  ] as const)
    journal.moved(from, { steps: [to] }, { transaction: to, attempts: [first] });
  assert.deepEqual(
    lines.map((line) => (line as readonly string[])[0]),
    ['info', 'debug', 'info', 'debug', 'info', 'info'],
  );
});

test('journal: waits for the chain become spans; an untraced transaction has none', () => {
  const { journal, spans } = recorded(5_000);
  const submitted = next(sent, { status: 'submitted', sentAtMs: 1_000 });
  const mined = next(submitted, {
    status: 'mined',
    mined: { version: 1, blockNumber: 1n, blockHash: '0x', succeeded: false, facts: null },
  });
  const failed = next(mined, { status: 'failed', statusReason: 'reverted on chain' });
  journal.moved(submitted, { steps: [mined] }, { transaction: mined, attempts: [first] });
  journal.moved(mined, { steps: [failed] }, { transaction: failed, attempts: [first] });
  assert.deepEqual(
    spans.map(({ name, startMs, failure }) => [name, startMs, failure]),
    [
      ['transaction mined', 1_000, null],
      ['transaction failed', 5_000, 'reverted on chain'],
    ],
  );
  const untraced = aTransaction({ id: 'tx-2' });
  assert.equal(journal.step('transaction signed', untraced), null);
});

test('journal: each signed attempt has an audit line, also if its commit gets no answer, and no other change has one', async () => {
  const { journal, audited } = recorded();
  const bump = anAttempt({ transactionId: id, version: 2, hash: '0xb2' });
  const mined = next(sent, { status: 'mined', mined: { version: 1, blockNumber: 1n, blockHash: '0x', succeeded: true, facts: null } });
  let linesAtCommit = 0;
  const commit = async () => {
    linesAtCommit = audited.length;
    throw new StoreAwayError('no answer');
  };
  const change = new Proxy({}, { get: (_, name) => () => ({ name }) });
  const deps = { store: { change, commit }, journal, recordEvent: () => [], clock: { nowMs: () => 0 } } as never;
  const before = { transaction: pending, attempts: [] };
  await assert.rejects(commitPlanned(deps, {} as never, [{ before, move: { steps: [sent], newAttempt: first } }]), StoreAwayError);
  assert.equal(linesAtCommit, 1);
  const after = { transaction: sent, attempts: [first] };
  const planned = { before: after, move: { steps: [next(sent, { liveVersion: 2 })], newAttempt: bump } } as const;
  await assert.rejects(commitPlanned(deps, {} as never, [planned]), StoreAwayError);
  journal.moved(sent, { steps: [mined] }, { transaction: mined, attempts: [first, bump] });
  const common = { keyId: 'engine', event: 'attempt signed', relayer_id: 'relayer-1', transaction_id: id, purpose: 'content' };
  const lineOf = (version: number, { chain, nonce, hash, raw }: typeof first) => ({
    ...common,
    version,
    chain,
    nonce,
    hash,
    digest: createHash('sha256').update(raw).digest('hex'),
  });
  assert.deepEqual(audited, [lineOf(1, first), lineOf(2, bump)]);
});
