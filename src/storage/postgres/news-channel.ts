import type { News } from '../../core/ports/news.js';
import { allNews } from '../../core/ports/news.js';
import type { Change } from '../../core/ports/store/change.js';
import { BoundChange } from '../sql/bound-change.js';

/** The server refuses longer payloads from 8,000 bytes on. */
const maxPayloadBytes = 7_500;

/** What an instance tells the others. */
export interface Message {
  /** The number of the instance that sent it. */
  readonly from: number;
  readonly news: News;
  /** Instances or leases have changed. */
  readonly hasLeases: boolean;
}

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

/** Gathers the content of the next message. */
export interface NewsBag {
  /** Adds what a commit has changed. */
  addChanges(changes: readonly Change[]): void;
  addLeases(): void;
  addAll(): void;
  /** Takes the payload of what was added; null: nothing was. */
  take(from: number): string | null;
}

const eventChanges: ReadonlySet<string> = new Set(['insertEvent', 'redeliverEvent']);
const definitionChanges: ReadonlySet<string> = new Set(['moveDefinitions', 'insertApiKey', 'deleteApiKey']);

/** Creates an empty bag. */
export function createNewsBag(): NewsBag {
  let relayers: Set<string> | 'all' = new Set();
  let hasEvents = false;
  let hasDefinitions = false;
  let hasLeases = false;

  function addAll(): void {
    relayers = 'all';
    hasEvents = true;
    hasDefinitions = true;
  }

  return {
    addChanges(changes) {
      for (const change of changes) {
        const { name } = change;
        const countedFor = change instanceof BoundChange ? change.countedFor : null;
        if (countedFor !== null && relayers !== 'all') relayers.add(countedFor);
        if (eventChanges.has(name)) hasEvents = true;
        if (definitionChanges.has(name)) hasDefinitions = true;
      }
    },
    addLeases() {
      hasLeases = true;
    },
    addAll,
    take(from) {
      if (!hasEvents && !hasDefinitions && !hasLeases && relayers !== 'all' && relayers.size === 0) return null;
      const message = (concerned: Payload['relayers']) =>
        JSON.stringify({ from, relayers: concerned, events: hasEvents, definitions: hasDefinitions, leases: hasLeases } satisfies Payload);
      const text = message(relayers === 'all' ? 'all' : [...relayers]);
      const taken = Buffer.byteLength(text) > maxPayloadBytes ? message('all') : text;
      relayers = new Set();
      hasEvents = hasDefinitions = hasLeases = false;
      return taken;
    },
  };
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
