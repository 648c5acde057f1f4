import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

/** Where the text of the product is. Definitions from elsewhere keep their words. */
const sources = [
  'src',
  'proto/relayer',
  'docs',
  'examples',
  'bench',
  '.ci',
  'README.md',
  'CONTRIBUTING.md',
  'RELEASING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'Dockerfile',
];

interface Rule {
  readonly pattern: RegExp;
  /** The words to use instead. */
  readonly instead: string;
}

/**
 * Phrases that `docs/language.md` replaces. Every pattern is unambiguous: words that have a second, correct meaning here (place, raise, held, yield in a
 * generator) are matched only in the phrase that is wrong.
 */
const rules: readonly Rule[] = [
  // Sentences without an actor.
  {
    pattern: phrase(
      'whoever',
      'whatever',
      'nobody',
      'no one',
      'anybody',
      'somebody',
      'someone',
      'what stands',
      'will ever tell',
      'the one that',
    ),
    instead: 'name the actor',
  },
  { pattern: phrase('where no', 'where none', 'where nothing', 'where nobody'), instead: '"if", with the actor' },
  { pattern: phrase('so many', 'so long, in'), instead: 'the number, or "at most"' },
  { pattern: phrase('what (?:becomes|became) of', 'to be woken by', 'what it says'), instead: 'lifecycle; alerts; logs' },
  { pattern: phrase('for good', 'anew', 'hardly', 'all the same'), instead: 'permanently; again; unlikely; still' },
  { pattern: /\bMakes it[;:.]/, instead: 'the verb with its object' },
  { pattern: /\btold\b|\btold(?=[A-Z])|Told(?![a-z])/, instead: 'report, return, log or send' },
  { pattern: /\btells? (?:of|the user)\b|\btelling of\b|\btell\??:|\btell[A-Z]/, instead: 'report, describe or resolve' },
  { pattern: /\bgreatest|Greatest|\bleast level\b/, instead: 'maximum; minimum' },
  { pattern: phrase('too dear', 'dearer', 'dearest'), instead: 'expensive, costly, higher' },

  // Words that the glossary replaces, also in identifiers.
  { pattern: word('roster'), instead: 'endpoint selector' },
  { pattern: word('fleet'), instead: 'relayers' },
  { pattern: word('refill'), instead: 'fill a gap' },
  { pattern: word('twin'), instead: 'duplicate' },
  { pattern: word('remark'), instead: 'warning' },
  { pattern: word('fate'), instead: 'outcome of an attempt' },
  { pattern: word('remind', 'reminded'), instead: 'rebroadcast' },
  { pattern: phrase('stands? alone', 'standing alone'), instead: 'unsequenced' },
  { pattern: /\byield[- ]?slot\b|yieldSlot|["'`]yield["'`]|PURPOSE_YIELD|\byields? (?:its|the|a) slot\b/i, instead: 'release a slot' },
  { pattern: phrase('gives? (?:its|the|a) slot up', 'gives? up (?:its|the|a) slot'), instead: 'release a slot' },
  { pattern: phrase('tak(?:es?|en|ing)(?: it)? back', 'took(?: it)? back'), instead: 'a reorg undoes it' },
  { pattern: phrase('(?:that|what) (?:is|are|was|were) out(?! of)'), instead: 'the current attempt' },

  // Sentences that were replaced.
  { pattern: phrase('no verdict', 'trouble with nodes'), instead: 'a node failure never fails a transaction' },
  {
    pattern: phrase('(?:can|cannot|could) (?:now )?be asked', 'no node says', 'is asked again'),
    instead: 'no RPC node is reachable; retrying',
  },
  {
    pattern: phrase('not raised', 'says the very same', 'for those behind it', 'which nothing else has'),
    instead: 'the sentence in the table',
  },
  {
    pattern: phrase('there is no scope', 'opens? nothing', 'without their texts', 'signs on for'),
    instead: 'unknown scope; revoked; secrets are never shown',
  },
];

describe('the language of the project', () => {
  it('the language of the project: uses the words of the glossary and none of the phrases that it replaces', () => {
    const found = sources.flatMap(filesIn).flatMap((file) => {
      const { text, lineAt } = flowingText(readFileSync(file, 'utf8'));
      return rules.flatMap(({ pattern, instead }) =>
        [...text.matchAll(new RegExp(pattern, `${pattern.flags}g`))].map(
          (match) => `${file}:${lineAt(match.index)}: "${match[0]}"; use ${instead}`,
        ),
      );
    });
    assert.equal(found.length, 0, `${found.length} phrases to reword (docs/language.md):\n${found.join('\n')}`);
  });

  it('the language of the project: finds a phrase that a comment breaks into two lines', () => {
    const { text, lineAt } = flowingText('/**\n * An example.\n * What becomes\n * of it.\n */');
    const match = phrase('what (?:becomes|became) of').exec(text);
    assert.deepEqual([match?.[0], lineAt(match?.index ?? 0)], ['What becomes of', 3]);
  });

  it('the language of the project: no comment of the service has a line over 140 columns', () => {
    const isLong = (line: string) => line.length > 140 && /^\s*(?:\/\/|\/?\*)/.test(line);
    const long = filesIn('src')
      .filter((file) => /\.tsx?$/.test(file))
      .flatMap((file) =>
        readFileSync(file, 'utf8')
          .split('\n')
          .flatMap((line, index) => (isLong(line) ? [`${file}:${index + 1}`] : [])),
      );
    assert.deepEqual(long, []);
  });

  it('the language of the project: comments name things instead of pointing back with pronouns', () => {
    const countOf = (pattern: RegExp) =>
      filesIn('src')
        .filter((file) => /\.tsx?$/.test(file))
        .flatMap((file) => {
          const comments = readFileSync(file, 'utf8').match(/\/\*[\s\S]*?\*\/|\/\/.*/g) ?? [];
          return comments.flatMap((comment) => [...flowingText(comment).text.matchAll(pattern)].map(([found]) => `${file}: ${found}`));
        });
    assert.deepEqual(countOf(/\bthose (?:that|which|who)\b.{0,30}|\bthe ones? (?:that|which|who|of)\b.{0,30}/gi), []);
    // Often plain English, in "like that of X". The number only falls.
    const references = countOf(/\b(?:that|those) of\b.{0,30}/gi);
    assert.ok(references.length <= 60, `${references.length} of at most 60:\n${references.join('\n')}`);
  });

  it('the language of the project: names no file after a word that the glossary replaces', () => {
    const old = /(?:^|[/-])(?:roster|fleet|refill|twin|remarks?|fates?|remind|alone|yield)(?:[-.]|$)/;
    assert.deepEqual(
      filesIn('src').filter((file) => old.test(file)),
      [],
    );
  });
});

/** Returns the text in one line, without the signs that begin the lines of comments, and the number of the line at a position in it. */
function flowingText(source: string): { readonly text: string; lineAt(position: number): number } {
  const lines = source.split('\n').map((line) => line.replace(/^[ \t]*(?:\/\*+|\*\/?|\/\/|#+|>)?[ \t]*/, ''));
  const ends: number[] = [];
  for (const line of lines) ends.push((ends.at(-1) ?? 0) + line.length + 1);
  return { text: lines.join(' '), lineAt: (position) => ends.findIndex((end) => position < end) + 1 };
}

/** Matches whole phrases, in any case. */
function phrase(...texts: readonly string[]): RegExp {
  return new RegExp(`\\b(?:${texts.join('|')})\\b`, 'i');
}

/** Matches words and their plurals in prose and as a part of an identifier: `twin`, `twins`, `twinOf`, `isTwin`. */
function word(...texts: readonly string[]): RegExp {
  const capitalized = texts.map((text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`);
  return new RegExp(`(?<![A-Za-z])(?:${texts.join('|')})s?(?![a-z])|(?:${capitalized.join('|')})s?(?![a-z])`);
}

function filesIn(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .map((file) => join(path, file))
    .filter((file) => /\.(?:tsx?|md|proto|yml|json|py|go|sh|html)$|^\.ci\/run$/.test(file));
}
