import type { NetworkType } from '../../../src/core/records/network.js';
import { type Oddity, oddAmounts, oddAnswers, shifts } from './oddities.js';
import { questionnaires } from './questionnaires.js';
import type { Subject } from './subjects.js';

/** The endpoints of a network: which of them lies, and whether another one tells the truth. */
export const endpointSets = {
  'the only URL': ['liar'],
  'the heavier of two': ['liar', 'honest'],
  'the lighter of two': ['honest', 'liar'],
  'one of three': ['liar', 'honest', 'honest'],
  'the middle of three': ['honest', 'liar', 'honest'],
  'while another is away': ['liar', 'away', 'honest'],
} as const;

/** What the caller does, or what happens to the service, while a node lies. */
const actions = ['send', 'replace', 'cancel', 'expiry', 'restart'] as const;

/** One case of the matrix of lies. Its name says all of it. */
export interface Cell {
  readonly name: string;
  readonly subject: Subject;
  readonly oddity: Oddity;
  readonly endpoints: keyof typeof endpointSets;
  readonly action: (typeof actions)[number];
}

/** The story of these answers contradicts nothing that another question shows. */
const headNames: ReadonlySet<string> = new Set(['head.number', 'latestLedger.sequence', 'position.absoluteSlot']);

/** All cells of a network: each question of its table × oddity × endpoints × action. */
export function allCells(network: NetworkType): readonly Cell[] {
  const { subjects } = questionnaires[network];
  const odd = [
    ...subjects('answers').flatMap((subject) => oddAnswers.map((oddity) => ({ subject, oddity }))),
    ...subjects('amounts').flatMap((subject) => oddAmounts.map((oddity) => ({ subject, oddity }))),
  ];
  const forged = subjects('answers')
    .filter(({ question }) => question === 'receipt')
    .map((subject) => ({ subject, oddity: 'forged' as const }));
  const shifted = subjects('amounts')
    .filter(({ name }) => headNames.has(name))
    .flatMap((subject) => (Object.keys(shifts) as readonly (keyof typeof shifts)[]).map((oddity) => ({ subject, oddity })));
  const sets = Object.keys(endpointSets) as readonly Cell['endpoints'][];
  return [...odd, ...forged, ...shifted].flatMap(({ subject, oddity }) =>
    sets
      .filter((endpoints) => isFair(subject, oddity, endpoints))
      .flatMap((endpoints) =>
        actions.map((action) => ({
          name: [network === 'evm' ? subject.name : `${network}: ${subject.name}`, oddity, endpoints, action].join(' / '),
          subject,
          oddity,
          endpoints,
          action,
        })),
      ),
  );
}

/** Nothing contradicts the story of the only endpoint. Off EVM that is all that it shows, and only what shows nothing is left. */
function isFair({ network }: Subject, oddity: Oddity, endpoints: Cell['endpoints']): boolean {
  if (endpoints !== 'the only URL') return true;
  if (network !== 'evm') return showsNothing.has(oddity);
  return !(oddity === 'forged' || oddity === 'blocks shifted up' || oddity === 'blocks shifted down');
}

const showsNothing: ReadonlySet<Oddity> = new Set(['unknown words', 'method missing', 'null', 'malformed', 'time-out']);

/** A number that a name determines. */
export function digestOf(name: string): number {
  return [...name].reduce((digest, letter) => Math.imul(digest ^ letter.charCodeAt(0), 16777619), 0x811c9dc5) >>> 0;
}
