import { allNews, type Message, type News } from '../../core/ports/news.js';
import type { Change } from '../../core/ports/store/change.js';
import { hasChange } from '../../core/ports/store/store.js';
import { BoundChange } from '../sql/bound-change.js';

/** The server refuses longer payloads from 8,000 bytes on. */
const maxPayloadBytes = 7_500;

/** The JSON of a message. */
interface Payload {
  readonly from: number;
  readonly relayers: readonly string[] | 'all';
  readonly events: boolean;
  readonly definitions: boolean;
  readonly leases: boolean;
}

function isPayload(json: unknown): json is Payload {
  if (typeof json !== 'object' || json === null) return false;
  const { from, relayers, events, definitions, leases } = json as Readonly<Record<string, unknown>>;
  const isConcerned = relayers === 'all' || (Array.isArray(relayers) && relayers.every((id) => typeof id === 'string'));
  return typeof from === 'number' && isConcerned && [events, definitions, leases].every((flag) => typeof flag === 'boolean');
}

/** See `SharedDatabase.newsOf`. */
export function newsOf(changes: readonly Change[]): News {
  const relayers = new Set<string>();
  for (const change of changes) if (change instanceof BoundChange && change.relayerId !== null) relayers.add(change.relayerId);
  return {
    relayers,
    hasEvents: hasChange(changes, 'insertEvent', 'redeliverEvent'),
    hasDefinitions: hasChange(changes, 'moveDefinitions', 'insertApiKey', 'setApiKeySecrets', 'deleteApiKey'),
  };
}

/** Returns the payload of a message, which names no relayers if there are too many. */
export function payloadOf({ from, news: { relayers, hasEvents, hasDefinitions }, hasLeases }: Message): string {
  const payload = (concerned: Payload['relayers']) =>
    JSON.stringify({ from, relayers: concerned, events: hasEvents, definitions: hasDefinitions, leases: hasLeases } satisfies Payload);
  const text = payload(relayers === 'all' ? relayers : [...relayers]);
  return Buffer.byteLength(text) > maxPayloadBytes ? payload('all') : text;
}

/** Reads a payload. What cannot be read comes from another version, which may have changed anything. */
export function readMessage(text: string): Message {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = null;
  }
  if (!isPayload(json)) return { from: 0, news: allNews, hasLeases: true };
  const { from, relayers, events, definitions, leases } = json;
  const concerned = relayers === 'all' ? relayers : new Set(relayers);
  return { from, news: { relayers: concerned, hasEvents: events, hasDefinitions: definitions }, hasLeases: leases };
}
