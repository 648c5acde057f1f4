import { readFileSync } from 'node:fs';

/** Returns the examples of the page about spending rules: lists of rules, in the sections about a network, or in the others. */
export function ruleExamples(network: 'evm' | 'stellar' | 'solana'): readonly (readonly object[])[] {
  const sections = readFileSync('docs/spending-rules.md', 'utf8').split('\n## ');
  const networkOf = (section: string) =>
    (['stellar', 'solana'] as const).find((name) => section.toLowerCase().startsWith(`${name}\n`)) ?? 'evm';
  return sections
    .filter((section) => networkOf(section) === network)
    .flatMap((section) => [...section.matchAll(/```json\n(\[[^`]+)```/g)].map(([, json = '']) => JSON.parse(json)));
}
