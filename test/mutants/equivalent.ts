/** A mutant that has no visible effect, and why. */
export interface Equivalent {
  /** The built module, below `dist/src`. */
  readonly module: string;
  readonly kind: string;
  /** The built line, without the spaces around it. */
  readonly line: string;
  /** What the mutant puts into the line. */
  readonly replacement: string;
  readonly reason: string;
}

/** Mutants that were judged and are left out. */
export const equivalents: readonly Equivalent[] = [
  {
    module: 'core/fees/choose-price.js',
    kind: 'field',
    line: "if (reaches({ kind: 'eip1559', ...limit }, bidOf(price)))",
    replacement: '',
    reason: 'only legacy prices are known by their kind',
  },
  {
    module: 'core/fees/choose-price.js',
    kind: 'off by one',
    line: "return max(minimumReplacement({ kind: 'legacy', gasPriceWei: limitWei }).maxFeePerGasWei, contentMinimum?.maxFeePerGasWei ?? 0n);",
    replacement: '1n',
    reason: 'the other amount is at least 1',
  },
  {
    module: 'core/access/key-ring.js',
    kind: 'off by one',
    line: 'changes += 1;',
    replacement: '2',
    reason: 'only a difference counts',
  },
  {
    module: 'chains/evm/confirmations.js',
    kind: 'comparison',
    line: 'if (await branch.reach(lowest < 0n ? 0n : lowest)) {',
    replacement: 'lowest <= 0n',
    reason: 'either way it is 0',
  },
  {
    module: 'chains/evm/confirmations.js',
    kind: 'off by one',
    line: 'const recentMs = 300_000;',
    replacement: '300001',
    reason: 'a millisecond of five minutes',
  },
  {
    module: 'chains/evm/history.js',
    kind: 'comparison',
    line: 'for (let at = 0; at < blocks.length; at += blocksPerBatch) {',
    replacement: 'at <= blocks.length',
    reason: 'a batch of no blocks asks nothing',
  },
  {
    module: 'chains/evm/history.js',
    kind: 'off by one',
    line: 'if (block < 0n)',
    replacement: '1n',
    reason: 'no account has used a nonce in block 0',
  },
  {
    module: 'core/access/key-ring.js',
    kind: 'off by one',
    line: 'const expiryIntervalMs = 1_000;',
    replacement: '1001',
    reason: 'a millisecond of a second',
  },
  {
    module: 'core/access/key-ring.js',
    kind: 'flag',
    line: 'storing = repeat(storeUses, usesIntervalMs, { onError, runsAtOnce: false });',
    replacement: 'true',
    reason: 'no key has a use yet',
  },
  {
    module: 'core/access/api-keys.js',
    kind: 'condition',
    line: 'const created = apiKeyFrom(wanted, deps.ids.timeOrdered(), deps.clock.nowMs(), creator?.keyId ?? null);',
    replacement: 'creator?.keyId',
    reason: 'null is the default',
  },
  {
    module: 'chains/stellar/attempt-outcomes.js',
    kind: 'comparison',
    line: 'latestCloseTimeS: a.latestCloseTimeS < b.latestCloseTimeS ? a.latestCloseTimeS : b.latestCloseTimeS,',
    replacement: 'a.latestCloseTimeS <= b.latestCloseTimeS',
    reason: 'the earlier of two equal times is either',
  },
  {
    module: 'storage/migrations/0013-newest-versions.js',
    kind: 'statement',
    line: `await sql \`alter table \${sql.table(table)} set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)\`.execute(db);`,
    replacement: ';',
    reason: 'only PostgreSQL knows how often it cleans a table up',
  },
  {
    module: 'core/fees/choose-price.js',
    kind: 'comparison',
    line: 'if (choice.explicit === null && maxCostPerGasWei(price) * 10n <= maxCostPerGasWei(live) * 9n)',
    replacement: 'maxCostPerGasWei(price) * 10n < maxCostPerGasWei(live) * 9n',
    reason: 'a wei of a tenth of the price',
  },
];
