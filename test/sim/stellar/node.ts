import { StrKey, xdr } from '@stellar/stellar-sdk';
import type { StellarLedger } from '../../../src/sandbox/stellar/ledger.js';
import { type MethodContext, methods } from '../../../src/sandbox/stellar/rpc/methods.js';
import { asParams } from '../../../src/sandbox/stellar/rpc/params.js';
import { RpcError } from '../../../src/sandbox/stellar/rpc/rpc-error.js';
import { viewOf } from '../../../src/sandbox/stellar/rpc/view.js';
import { change } from '../../support/stellar-xdr.js';

/** A use of a sequence number that never happened. */
export interface Forgery {
  /** G... */
  readonly account: string;
  readonly sequence: bigint;
  readonly ledger: number;
  /** Base64 XDR, without the account's signature. */
  readonly envelope: string;
}

/** What a node does wrong; everything is off in one that works. */
export interface NodeCondition {
  ledgersBehind: number;
  /** The first ledger that it has. */
  oldestLedger: number;
  sending: MethodContext['sending'];
  fullBelowStroops: bigint;
  restoring: MethodContext['restoring'];
  /** It shows this transaction and a used sequence number. */
  forges: Forgery | null;
  /** By how much it numbers all ledgers wrongly. */
  ledgerShift: number;
  /** How it shows transactions that a ledger contains: with the other outcome, in the ledger before, or not at all. */
  shows: 'truth' | 'other outcome' | 'ledger before' | 'nothing';
}

/** Nothing wrong. */
export const wellConditioned: NodeCondition = {
  ledgersBehind: 0,
  oldestLedger: 0,
  sending: 'queued',
  fullBelowStroops: 0n,
  restoring: 'in the call',
  forges: null,
  ledgerShift: 0,
  shows: 'truth',
};

/** A URL with two nodes behind it. */
export interface Gateway {
  readonly name: string;
  readonly conditions: readonly NodeCondition[];
  /** True if each request may meet another node. */
  splits: boolean;
  /** Answers a request's body. */
  answer(body: string): string;
}

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params?: unknown;
}

/** The parts of a gateway. */
export interface GatewayOptions {
  readonly name: string;
  readonly ledger: StellarLedger;
  /** The network that its nodes serve in place of the true one, in good condition; null: they serve the true one. */
  other(): StellarLedger | null;
  /** Chooses one of this many nodes. */
  pick(count: number): number;
  /** Called if a node refuses this envelope (base64 XDR) because it bids too little. */
  refusedBid(envelope: string): void;
}

/** Makes a gateway whose nodes work. */
export function createGateway({ name, ledger: trueLedger, other, pick, refusedBid }: GatewayOptions): Gateway {
  const conditions = [0, 1].map((): NodeCondition => ({ ...wellConditioned }));

  function answerOne({ id, method, params }: Call, condition: NodeCondition): object {
    const another = other();
    const ledger = another ?? trueLedger;
    const seen = another === null ? condition : wellConditioned;
    const { ledgersBehind, oldestLedger, sending, fullBelowStroops, restoring, forges, ledgerShift, shows } = seen;
    try {
      const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
      if (run === undefined) throw new RpcError(-32601, 'method not found');
      const view = viewOf(ledger, ledgersBehind, oldestLedger);
      const asked = asParams(renumbered(params ?? {}, -ledgerShift));
      const result: { readonly errorResultXdr?: string } = run(asked, { ledger, view, sending, fullBelowStroops, restoring });
      if (result.errorResultXdr !== undefined && isFeeRefusal(result.errorResultXdr))
        refusedBid((params as { readonly transaction: string }).transaction);
      const told = forges === null ? result : forged(method, result, forges);
      return { jsonrpc: '2.0', id, result: renumbered(method === 'getTransaction' ? shownAs(told, shows) : told, ledgerShift) };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return { jsonrpc: '2.0', id, error: { code: error.code, message: error.message } };
    }
  }

  const gateway: Gateway = {
    name,
    conditions,
    splits: false,
    answer(body) {
      const request: Call | readonly Call[] = JSON.parse(body);
      const condition = conditions[gateway.splits ? pick(conditions.length) : 0] ?? wellConditioned;
      return JSON.stringify(
        Array.isArray(request) ? request.map((call) => answerOne(call, condition)) : answerOne(request as Call, condition),
      );
    },
  };
  return gateway;
}

function isFeeRefusal(result: string): boolean {
  return xdr.TransactionResult.fromXdr(result, 'base64').result.type === 'txInsufficientFee';
}

/** What a node that lies shows instead. */
function forged(method: string, result: object, forgery: Forgery): object {
  if (method === 'getLedgerEntries') {
    const { entries } = result as { readonly entries: readonly { readonly xdr: string }[] };
    return { ...result, entries: entries.map((entry) => ({ ...entry, xdr: withSequence(entry.xdr, forgery) })) };
  }
  if (method !== 'getTransactions') return result;
  const { transactions } = result as { readonly transactions: readonly object[] };
  const added = {
    status: 'SUCCESS',
    applicationOrder: 99,
    feeBump: false,
    envelopeXdr: forgery.envelope,
    ledger: forgery.ledger,
  };
  return { ...result, transactions: [...transactions, added] };
}

/** A transaction of a ledger, as a node shows that lies about it. */
function shownAs(result: object, shows: NodeCondition['shows']): object {
  const {
    status,
    ledger = 0,
    latestLedger,
    latestLedgerCloseTime,
    oldestLedger,
    oldestLedgerCloseTime,
  } = result as Record<string, unknown>;
  if (status === 'NOT_FOUND' || shows === 'truth') return result;
  if (shows === 'other outcome') return { ...result, status: status === 'SUCCESS' ? 'FAILED' : 'SUCCESS' };
  if (shows === 'ledger before') return { ...result, ledger: Number(ledger) - 1 };
  return { status: 'NOT_FOUND', latestLedger, latestLedgerCloseTime, oldestLedger, oldestLedgerCloseTime };
}

const ledgerNumbers: ReadonlySet<string> = new Set([
  'latestLedger',
  'oldestLedger',
  'ledger',
  'sequence',
  'startLedger',
  'lastModifiedLedgerSeq',
  'liveUntilLedgerSeq',
]);

/** The value with every ledger number in it moved by this, also that of an account's last use. */
function renumbered(value: unknown, shift: number, name = ''): unknown {
  if (shift === 0) return value;
  if (Array.isArray(value)) return value.map((one) => renumbered(one, shift));
  if (typeof value === 'number' && ledgerNumbers.has(name)) return Math.max(1, value + shift);
  if (typeof value !== 'object' || value === null) return value;
  const moved = Object.entries(value).map(([key, member]): [string, unknown] => [key, renumbered(member, shift, key)]);
  // The results of simulations have XDR of other types.
  const isEntry = 'lastModifiedLedgerSeq' in value && 'xdr' in value;
  return Object.fromEntries(isEntry ? [...moved, ['xdr', withLedger(String(value.xdr), shift)]] : moved);
}

function withLedger(entry: string, shift: number): string {
  const data = xdr.LedgerEntryData.fromXdr(entry, 'base64');
  if (data.type !== 'account' || data.account.ext.type !== 'v1' || data.account.ext.v1.ext.type !== 'v2') return entry;
  const { ext } = data.account.ext.v1.ext.v2;
  if (ext.type !== 'v3') return entry;
  change(ext.v3, { seqLedger: Math.max(1, ext.v3.seqLedger + shift) });
  return data.toXdr('base64');
}

function withSequence(entry: string, { account, sequence, ledger }: Forgery): string {
  const data = xdr.LedgerEntryData.fromXdr(entry, 'base64');
  if (data.type !== 'account') return entry;
  const own = data.account;
  if (StrKey.encodeEd25519PublicKey(own.accountId.ed25519.value) !== account || own.seqNum >= sequence) return entry;
  change(own, { seqNum: sequence });
  const { v2 } = xdr.expectUnionVariant(xdr.expectUnionVariant(own.ext, 'v1').v1.ext, 'v2');
  change(xdr.expectUnionVariant(v2.ext, 'v3').v3, { seqLedger: ledger });
  return data.toXdr('base64');
}
