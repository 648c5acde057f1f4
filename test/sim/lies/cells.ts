import { type Oddity, oddAmounts, oddAnswers, shifts } from './oddities.js';
import { type Subject, subjects } from './subjects.js';

/** The endpoints of a network: which of them lies, and whether another one tells the truth. */
export const endpointSets = {
  'the only URL': ['liar'],
  'the heavier of two': ['liar', 'honest'],
  'the lighter of two': ['honest', 'liar'],
  'one of three': ['liar', 'honest', 'honest'],
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

/** All cells: each question of the table × oddity × endpoints × action. */
export function allCells(): readonly Cell[] {
  const odd = [
    ...subjects('answers').flatMap((subject) => oddAnswers.map((oddity) => ({ subject, oddity }))),
    ...subjects('amounts').flatMap((subject) => oddAmounts.map((oddity) => ({ subject, oddity }))),
  ];
  const forged = subjects('answers')
    .filter(({ question }) => question === 'receipt')
    .map((subject) => ({ subject, oddity: 'forged' as const }));
  const shifted = subjects('amounts')
    .filter(({ name }) => name === 'head.number')
    .flatMap((subject) => (Object.keys(shifts) as readonly (keyof typeof shifts)[]).map((oddity) => ({ subject, oddity })));
  const sets = Object.keys(endpointSets) as readonly Cell['endpoints'][];
  return [...odd, ...forged, ...shifted].flatMap(({ subject, oddity }) =>
    sets
      .filter((endpoints) => isFair(oddity, endpoints))
      .flatMap((endpoints) =>
        actions.map((action) => ({
          name: [subject.name, oddity, endpoints, action].join(' / '),
          subject,
          oddity,
          endpoints,
          action,
        })),
      ),
  );
}

/** Nothing contradicts the story of the only endpoint. */
function isFair(oddity: Oddity, endpoints: Cell['endpoints']): boolean {
  return endpoints !== 'the only URL' || !(oddity === 'forged' || oddity === 'blocks shifted up' || oddity === 'blocks shifted down');
}

/** A number that a name determines. */
export function digestOf(name: string): number {
  return [...name].reduce((digest, letter) => Math.imul(digest ^ letter.charCodeAt(0), 16777619), 0x811c9dc5) >>> 0;
}
