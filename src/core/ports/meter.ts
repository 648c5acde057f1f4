import type { Intent, TransactionStatus } from '../transaction/transaction.js';

/** What a try to deliver a webhook came to: `failed` is to be tried again, `dead` is given up. */
export type WebhookOutcome = 'delivered' | 'failed' | 'dead';

/**
 * Counts and times the service's work. Every call is cheap, keeps nothing of what it is given, and never throws. Labels come from closed or
 * configured lists only: never an id of a transaction, a path, or what a caller wrote.
 */
export interface Meter {
  /**
   * A request has ended. `method`: `TransactionService.SendTransaction`, the path of a page, or `none`. `code`: the HTTP status by which REST tells
   * the outcome, whatever the protocol; 499 where the caller left before. `seconds` null: its length says nothing, as with a stream.
   */
  requestEnded(method: string, protocol: string, code: number, seconds: number | null): void;
  /** The store wrote a commit for so many callers, or could not. */
  batchEnded(callers: number, seconds: number, isWritten: boolean): void;
  /** `seconds`: how long the try took; null where there was nothing to try it with. */
  webhookTried(outcome: WebhookOutcome, seconds: number | null): void;
  /** Between the commit of an event and its delivery. */
  webhookDelivered(delaySeconds: number): void;
  /** A request to a node with so many calls ended: `refused` by its HTTP status, or `failed` without an answer. */
  nodeAsked(network: string, host: string, result: 'answered' | 'refused' | 'failed', calls: number, seconds: number): void;
  /** A transaction has this status from now on. */
  statusReached(relayerId: string, status: TransactionStatus): void;
  /** A version was signed and stored. `kind`: what for; `escalation`: the service itself outbids for content. */
  attemptStored(relayerId: string, kind: Intent | 'escalation'): void;
}

const nothing = () => undefined;

/** Counts nothing. */
export const noMeter: Meter = {
  requestEnded: nothing,
  batchEnded: nothing,
  webhookTried: nothing,
  webhookDelivered: nothing,
  nodeAsked: nothing,
  statusReached: nothing,
  attemptStored: nothing,
};
