import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { startAnvil } from '../support/anvil.js';
import { rest, rpcCallers } from '../support/callers.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.js';
import { apiKey, createServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const transfer = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1 };
const traceId = '0af7651916cd43dd8448eb211c80319c';
const callersSpan = 'b7ad6b7169203331';

it('traces: one trace covers request, confirmation and webhooks, also across a SIGKILL', async (test) => {
  const collector = await startOtlpReceiver(test);
  const receiver = await startHttpReceiver(test, (response) => response.end());
  const { home, anvil } = await started(
    test,
    { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: '50' },
    receiver.url('/'),
  );
  let service = await startService(home);
  test.after(() => service.stop());
  const spans = () => collector.spans().filter((span) => span.traceId === traceId);
  const named = (name: string) => spans().filter((span) => span.name === name);

  const traceparent = `00-${traceId}-${callersSpan}-01`;
  const { body } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', transfer, { traceparent });
  assert.deepEqual(body.metadata, { logs: [], traces: [traceId] });
  const path = `/relayers/r1/transactions/${body.data.id}`;
  await waitFor('the broadcast to be traced', () => named('transaction broadcast')[0]);
  await waitFor('the webhook of submitted to be traced', () => named('webhook')[2]);
  await service.kill();
  service = await startService(home);
  await waitFor('the confirmation', async () => {
    await anvil.mine();
    return (await rest(service.baseUrl, 'GET', path)).body.data.status === 'confirmed' ? true : undefined;
  });
  assert.equal((await rest(service.baseUrl, 'GET', path)).body.data.trace_id, traceId);
  await waitFor('the last webhook to be traced', () => named('webhook')[4]);

  const [request, ...noMore] = named('TransactionService.SendTransaction');
  const [accepted] = named('transaction accepted');
  assert.deepEqual(noMore, []);
  assert.equal(request?.parentSpanId, callersSpan);
  assert.equal(accepted?.parentSpanId, request?.spanId);
  for (const step of ['prepared', 'signed', 'stored', 'broadcast', 'mined', 'confirmed']) {
    const [span] = named(`transaction ${step}`);
    assert.equal(span?.parentSpanId, accepted?.spanId, `${step} is not part of the transaction`);
    assert.equal(span?.facts['transaction.id'], body.data.id);
    assert.ok((span?.endMs ?? 0) >= (span?.startMs ?? 1));
  }
  for (const span of named('webhook')) assert.equal(span.parentSpanId, accepted?.spanId);
  for (const { headers } of receiver.requests) {
    const spanId = /^00-0af7651916cd43dd8448eb211c80319c-([0-9a-f]{16})-01$/.exec(String(headers.traceparent))?.[1];
    assert.ok(
      named('webhook').some((span) => span.spanId === spanId),
      `the webhook's own span is told to its receiver: ${headers.traceparent}`,
    );
  }
  const lines = service
    .output()
    .split('\n')
    .filter((line) => line.includes('"msg":"transaction"'));
  assert.ok(lines.length > 0 && lines.every((line) => line.includes(`"traceId":"${traceId}"`)));
});

it('traces: a request without traceparent starts a trace, which RPC nodes receive', async (test) => {
  const collector = await startOtlpReceiver(test);
  const { home, anvil, node } = await started(test, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: '50' });
  const service = await startService(home);
  test.after(() => service.stop());
  const { body } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', transfer);
  const traces: string[] = [...body.metadata.traces];
  const [grpc] = rpcCallers(service.baseUrl);
  const outcome = await grpc?.call('TransactionService', 'SendTransaction', { relayer_id: 'r1', evm: { ...transfer, value: '1' } });
  grpc?.close();
  assert.ok(outcome?.ok);
  traces.push(...(outcome.response as { metadata: { traces: string[] } }).metadata.traces);
  const failed = await rest(service.baseUrl, 'GET', '/relayers/r1/transactions/none');
  traces.push(...failed.body.metadata.traces);
  assert.equal(new Set(traces).size, 3);
  await anvil.mine();
  const roots = await waitFor('the traces', () => {
    const found = collector.spans().filter((span: ReceivedSpan) => span.parentSpanId === '' && traces.includes(span.traceId));
    return found.length === 3 ? found : undefined;
  });
  assert.ok(roots.every(({ kind, statusCode }) => kind === 2 && statusCode === 0));
  const broadcast = await waitFor('a broadcast', () => collector.spans().find(({ name }) => name === 'transaction broadcast'));
  const tracesOf = (method: string) =>
    node.requests.filter(({ body: asked }) => asked.includes(method)).map(({ headers }) => headers.traceparent);
  assert.ok(tracesOf('eth_sendRawTransaction').includes(`00-${broadcast.traceId}-${broadcast.spanId}-01`));
  // A draft before the first head reads the newest block within the trace of its transaction.
  assert.equal(tracesOf('"latest",false').at(-1), undefined, 'looking at the head is part of no trace');
});

it('traces: without an endpoint no span is sent, and the traceparent of the caller is passed on', async (test) => {
  const receiver = await startHttpReceiver(test, (response) => response.end());
  const { home } = await started(test, {}, receiver.url('/'));
  const service = await startService(home);
  test.after(() => service.stop());
  const traceparent = `00-${traceId}-${callersSpan}-01`;
  const { body } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', transfer, { traceparent });
  assert.equal(body.metadata, undefined);
  const [webhook] = await waitFor('a webhook', () => (receiver.requests.length > 0 ? receiver.requests : undefined));
  assert.equal(webhook?.headers.traceparent, traceparent);
});

it('traces: the record of a transaction has the id of its trace, on each protocol and in webhooks, and no such key without one', async (test) => {
  const receiver = await startHttpReceiver(test, (response) => response.end());
  const { home } = await started(test, {}, receiver.url('/'));
  const service = await startService(home);
  test.after(() => service.stop());
  const callers = rpcCallers(service.baseUrl);
  test.after(() => {
    for (const caller of callers) caller.close();
  });
  const traceparent = `00-${traceId}-${callersSpan}-01`;
  const overRest = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', transfer, { traceparent });
  const otherTraceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const answer = await fetch(`${service.baseUrl}/relayer.v1.TransactionService/SendTransaction`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${apiKey}`,
      traceparent: `00-${otherTraceId}-${callersSpan}-00`,
    },
    body: JSON.stringify({ relayerId: 'r1', evm: { to: transfer.to, value: '2' } }),
  });
  const overRpc = (await answer.json()) as { transaction: { id: string; traceId?: string } };
  const untraced = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', transfer, { traceparent: `${traceparent}0` });

  const expected = new Map([
    [overRest.body.data.id, traceId],
    [overRpc.transaction.id, otherTraceId],
    [untraced.body.data.id, undefined],
  ]);
  assert.equal(expected.size, 3);
  assert.equal(overRest.body.data.trace_id, traceId);
  assert.equal(overRpc.transaction.traceId, otherTraceId);
  assert.ok(!('trace_id' in untraced.body.data));

  const { body: listed } = await rest(service.baseUrl, 'GET', '/relayers/r1/transactions');
  assert.deepEqual(tracesOf(listed.data), expected);
  for (const [id, trace] of expected) {
    const { body } = await rest(service.baseUrl, 'GET', `/relayers/r1/transactions/${id}`);
    assert.equal(body.data.trace_id, trace);
    assert.equal('trace_id' in body.data, trace !== undefined);
  }
  for (const { protocol, call } of callers) {
    const list = await call('TransactionService', 'ListTransactions', { relayer_id: 'r1' });
    assert.ok(list.ok, protocol);
    assert.deepEqual(tracesOf(list.response.transactions), expected, protocol);
    for (const [id, trace] of expected) {
      const got = await call('TransactionService', 'GetTransaction', { relayer_id: 'r1', transaction_id: id });
      assert.ok(got.ok, protocol);
      assert.deepEqual(tracesOf([got.response.transaction]), new Map([[id, trace]]), protocol);
    }
  }
  const payloads = await waitFor('a webhook of each', () => {
    const found = receiver.requests.map(({ body }) => JSON.parse(body.toString()).payload);
    return new Set(found.map(({ id }) => id)).size === expected.size ? found : undefined;
  });
  assert.deepEqual(tracesOf(payloads), expected);
});

it('traces: an unreachable collector loses only its spans and is logged once', async (test) => {
  const { home, anvil } = await started(test, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_BSP_SCHEDULE_DELAY: '50' });
  const service = await startService(home);
  const { body } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', transfer);
  await waitFor('the confirmation', async () => {
    await anvil.mine();
    return (await rest(service.baseUrl, 'GET', `/relayers/r1/transactions/${body.data.id}`)).body.data.status === 'confirmed'
      ? true
      : undefined;
  });
  await waitFor('the trouble to be told', () => (service.output().includes('cannot send traces to the collector') ? true : undefined));
  assert.equal(await service.stop(), 0);
  assert.equal(service.output().match(/cannot send traces/g)?.length, 1);
});

/** The trace id of each record, by the id of the record. */
function tracesOf(records: unknown): Map<string, string | undefined> {
  return new Map((records as readonly { id: string; trace_id?: string }[]).map(({ id, trace_id }) => [id, trace_id]));
}

/** A home whose node mines only on command, behind a proxy that records each call and its trace. */
async function started(test: TestContext, env: Readonly<Record<string, string>>, webhookUrl?: string) {
  const anvil = await startAnvil({ noMining: true });
  test.after(() => anvil.stop());
  const node = await startHttpReceiver(test, (response, { body }) => {
    fetch(anvil.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: new Uint8Array(body) })
      .then(async (answer) => response.end(await answer.text()))
      .catch(() => response.destroy());
  });
  const home = await createServiceHome({
    rpcUrl: node.url('/'),
    ...(webhookUrl === undefined ? {} : { notifications: [{ id: 'hook', type: 'webhook', url: webhookUrl }], notificationId: 'hook' }),
    env,
  });
  test.after(() => home.remove());
  await anvil.rpc('anvil_setBalance', [home.address, '0x21e19e0c9bab2400000']);
  return { anvil, home, node };
}
