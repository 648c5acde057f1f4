import { once, setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { StrKey } from '@stellar/stellar-sdk';
import { createLedger, type LedgerOptions, type StellarLedger } from './ledger.js';
import { methods } from './rpc/methods.js';
import { asParams, type Params } from './rpc/params.js';
import { RpcError } from './rpc/rpc-error.js';
import type { Restoring } from './rpc/simulate.js';
import { viewOf } from './rpc/view.js';

/** The fault of one call; absent: the node answers it. */
export interface CallFault {
  /** Answered at once with this HTTP status; the node never sees it. */
  readonly refusedWith?: number;
  /** The node acts, but the connection ends without an answer. */
  readonly answerIsLost?: boolean;
  /** The node acts, and delays the answer by this time. */
  readonly heldForMs?: number;
  /** The handling of a sent transaction; default queued. */
  readonly sending?: 'dropped' | 'try again later';
}

/** The options of a node. */
export interface StellarOptions extends LedgerOptions {
  /** Absent for a free port. */
  readonly port?: number;
  /** An existing ledger, which outlives its node, so that a node can restart. */
  readonly ledger?: StellarLedger;
  /** Milliseconds between ledgers; absent or 0 to close them on command. */
  readonly closeEveryMs?: number;
}

/** A node that answers like stellar-rpc. */
export interface StellarNode {
  readonly url: string;
  readonly port: number;
  readonly ledger: StellarLedger;
  /** The called methods, in order. */
  readonly asked: readonly string[];
  /** Sets the fault of each call from now on; null: none. */
  setOutcome(outcomeOf: ((method: string, params: Params) => CallFault | null) | null): void;
  /** Makes this node lag by some ledgers. */
  setBehind(ledgers: number): void;
  /** Makes this node forget the ledgers before this one, like a node that was started from a recent state; 0: none. */
  setOldest(sequence: number): void;
  /**
   * Makes this node's own queue accept only bids of at least this many stroops per operation; 0 accepts all. The other nodes' queues stay
   * as they are.
   */
  setQueueFullBelow(stroopsPerOperation: bigint): void;
  /** Makes this node ask for a transaction that restores archived entries before a call, or let the call restore them, as at the start. */
  setRestoring(restoring: Restoring): void;
  /** Stops the node at once, even during answers; its ledger stays but closes no more. */
  stop(): Promise<void>;
}

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: unknown;
}

/** The gift of the friendbot: 10,000 XLM. */
const friendlyStroops = 100_000_000_000n;

/** Starts a node on a loopback port with a new or a given ledger. */
export async function startStellar(options: StellarOptions = {}): Promise<StellarNode> {
  const ledger = options.ledger ?? createLedger(options);
  const asked: string[] = [];
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  let outcomeOf: ((method: string, params: Params) => CallFault | null) | null = null;
  let ledgersBehind = 0;
  let oldestLedger = 0;
  let fullBelowStroops = 0n;
  let restoring: Restoring = 'in the call';

  /** Returns the answer to a call and what happens to the whole response. */
  function answer({ id, method, params }: Call): { readonly body: object; readonly outcome: CallFault } {
    asked.push(method);
    try {
      const named = asParams(params ?? {});
      const outcome = outcomeOf?.(method, named) ?? {};
      if (outcome.refusedWith !== undefined) return { body: {}, outcome };
      const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
      if (run === undefined) throw new RpcError(-32601, 'method not found');
      const view = viewOf(ledger, ledgersBehind, oldestLedger);
      const result = run(named, { ledger, view, sending: outcome.sending ?? 'queued', fullBelowStroops, restoring });
      return { body: { jsonrpc: '2.0', id, result }, outcome };
    } catch (error) {
      const { code, message } = error instanceof RpcError ? error : { code: -32603, message: String(error) };
      return { body: { jsonrpc: '2.0', id, error: { code, message } }, outcome: {} };
    }
  }

  /** Serves the paths of a standalone network: `/manualclose` of stellar-core, and a friendbot. */
  function answerGet(target: string, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(target, 'http://localhost');
    const address = searchParams.get('addr') ?? '';
    const isKnown = pathname === '/manualclose' || (pathname === '/friendbot' && StrKey.isValidEd25519PublicKey(address));
    if (pathname === '/manualclose') ledger.close();
    else if (isKnown) ledger.fund(address, friendlyStroops);
    response.writeHead(isKnown ? 200 : 400, { 'content-type': 'application/json' }).end(isKnown ? '{}' : '{"status":400}');
  }

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    if (incoming.method === 'GET') {
      answerGet(incoming.url ?? '/', response);
      return;
    }
    const request = JSON.parse(await textOf(incoming)) as Call | readonly Call[];
    const answers = [request].flat().map((call) => answer(call));
    const outcomes = answers.map(({ outcome }) => outcome);
    const status = outcomes.find((outcome) => outcome.refusedWith !== undefined)?.refusedWith;
    if (status !== undefined) {
      response.writeHead(status, { 'content-type': 'text/plain' }).end('the node is busy');
      return;
    }
    const heldForMs = Math.max(0, ...outcomes.map((outcome) => outcome.heldForMs ?? 0));
    if (heldForMs > 0) await delay(heldForMs, undefined, { signal: stopping.signal });
    if (outcomes.some((outcome) => outcome.answerIsLost === true)) {
      incoming.socket.destroy();
      return;
    }
    const bodies = answers.map(({ body }) => body);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(Array.isArray(request) ? bodies : bodies[0]));
  }

  const server = createServer((incoming, response) => {
    // The caller is gone or the node stops, so there is no answer.
    serve(incoming, response).catch(() => incoming.socket.destroy());
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { closeEveryMs = 0 } = options;
  const timer = closeEveryMs === 0 ? undefined : setInterval(() => ledger.close(), closeEveryMs);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    ledger,
    asked,
    setOutcome(next) {
      outcomeOf = next;
    },
    setBehind(ledgers) {
      ledgersBehind = ledgers;
    },
    setOldest(sequence) {
      oldestLedger = sequence;
    },
    setQueueFullBelow(stroopsPerOperation) {
      fullBelowStroops = stroopsPerOperation;
    },
    setRestoring(next) {
      restoring = next;
    },
    async stop() {
      clearInterval(timer);
      stopping.abort();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
