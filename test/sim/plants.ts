import type { Fault, SimNetwork } from './faults.js';

/** A fault that is put into the built service on purpose, to see whether the simulation finds it. */
export interface Plant {
  readonly name: string;
  /** A module of the service, without its extension. */
  readonly module: string;
  /** Each text must occur exactly once in the module; it becomes the other. */
  readonly changes: readonly (readonly [from: string, to: string])[];
  /** Another module that must be wrong, too, since each of the two guards alone is enough. */
  readonly second?: Pick<Plant, 'module' | 'changes'>;
  /** The only faults of the worlds that are searched, since others hide this one. Absent: the seed chooses. */
  readonly faults?: readonly Fault[];
  /** Absent: EVM. */
  readonly network?: SimNetwork;
  /** Absent: one. */
  readonly instances?: number;
}

/** The database lets an instance write whose row was removed, and does not say so when it connects again. */
const noFence: Pick<Plant, 'module' | 'changes'> = {
  module: 'storage/statements/instances',
  changes: [
    [
      ".where('number', '=', number)\n            .where('token', '=', token)\n            .where('backend_pid', '=', backend_pid)\n            .where('backend_started', '=', backend_started)),",
      ".where('number', 'in', db.selectFrom('instances').select('number').limit(sql.lit(1)))),",
    ],
    [
      ".set({ checked_at_ms, backend_pid, backend_started })\n            .where('number', '=', number)\n            .where('token', '=', token)",
      ".set({ checked_at_ms })\n            .where('number', 'in', db.selectFrom('instances').select('number').limit(sql.lit(1)))",
    ],
  ],
};

/** The faults. Several are what the engine once did wrong. */
export const plants: readonly Plant[] = [
  {
    name: 'a higher nonce is believed without a second endpoint',
    module: 'engine/lane/follow-nonce',
    changes: [['await confirmed(lane, sequence, { doubted, head, seen, wanted })', 'wanted']],
  },
  {
    name: 'a doubted nonce is never renewed',
    module: 'engine/lane/follow-nonce',
    changes: [["if (believed === 'contradicted') {", "if (believed === 'contradicted') {\n return;"]],
    faults: ['nonce lie', 'foreign use', 'reorg'],
  },
  {
    name: 'a transaction is final one block too early',
    module: 'engine/lane/block-view',
    changes: [
      ['return head.number - blockNumber + 1n >=', 'return head.number - blockNumber + 2n >='],
      ['blockNumber <= final', 'blockNumber <= final + 1n'],
    ],
  },
  {
    name: 'a receipt is believed whatever block it names',
    module: 'engine/lane/settle-slots',
    changes: [
      ["if (shown === 'another' || (found !== null && found.receipt.blockNumber > head.number))", 'if (false)'],
      ['if (shown === null || !isFinal(receipt.blockNumber))', 'if (!isFinal(receipt.blockNumber))'],
    ],
    faults: ['reorg', 'kept receipts'],
  },
  {
    name: 'a reorg of a mined transaction is not noticed',
    module: 'engine/lane/settle-slots',
    changes: [
      ["certain: inBlocks.filter(({ transaction: { mined } }) => mined !== null && blocks.shows(mined) === 'another'),", 'certain: [],'],
    ],
  },
  {
    name: 'a block that no node shows counts as another block',
    module: 'engine/lane/block-view',
    changes: [
      ["return hash === null ? null : hash === blockHash ? 'same' : 'another';", "return hash === blockHash ? 'same' : 'another';"],
    ],
    faults: ['lag', 'pool loss', 'lost requests'],
  },
  {
    name: 'a foreign transaction displaces ours before it is final',
    module: 'engine/lane/explain-foreign',
    changes: [
      ['const isFinal = isKnown &&\n        isDeep(lane, head, user.blockNumber) &&', 'const isFinal = isKnown &&'],
      ['(await finalAt(lane, sequence, head))(user.blockNumber)', 'true'],
    ],
    faults: ['foreign use', 'priced out'],
  },
  {
    name: 'a nonce that nothing explains ends the transaction at once',
    module: 'engine/lane/explain-foreign',
    changes: [
      ['const isSearched = !isForeign && isSearchedLong(lane, open, emptyHeads);', 'const isSearched = !isForeign;'],
      [
        'const isLost = isSearched && !isKnown && (await isProvablyUsed(lane, sequence, head, nonce));',
        'const isLost = isSearched && !isKnown;',
      ],
    ],
  },
  {
    name: "a node's word about a sender is believed",
    module: 'chains/evm/history',
    changes: [
      [
        'if (sender?.account.toLowerCase() !== wanted)\n                    return [];',
        'if (transaction.from.toLowerCase() !== wanted)\n                    return [];',
      ],
      ['hash: sender.hash, nonce: sender.nonce,', 'hash: String(transaction.hash), nonce: quantityFrom(transaction.nonce, "nonce"),'],
    ],
    faults: ['forged sender', 'congestion'],
  },
  {
    name: 'an endpoint that claims blocks which cannot exist is believed',
    module: 'chains/rpc/endpoint-selector',
    changes: [
      ['if (headSource !== null && headSource !== endpoint && (await forks.isForked(endpoint, position, headSource)))', 'if (false)'],
      ['if (!(await forks.isForked(endpoint, position, source)))', 'if (true)'],
      ["if (standing === 'ahead')", 'if (false)'],
      ["return standing !== 'ahead';", 'return true;'],
    ],
    second: {
      module: 'chains/evm/confirmations',
      changes: [
        ['if (!(await isLinked(head, BigInt(required))))', 'if (false)'],
        ['hasOthers ? await sharedUpTo(head) : head.number', 'head.number'],
      ],
    },
    faults: ['invented blocks', 'reorg'],
  },
  {
    name: 'a failing chore ends the upkeep of its lane',
    module: 'engine/lane/chore',
    changes: [['chore: name }, error);\n            return;', 'chore: name }, error);\n            throw error;']],
  },
  {
    name: 'expired content is broadcast',
    module: 'engine/lane/due-attempts',
    changes: [
      [
        'if (live === null || isExpired(open, nowMs) || heldBackBy(lane, live) !== null)',
        'if (live === null || heldBackBy(lane, live) !== null)',
      ],
    ],
  },
  {
    name: 'expired transactions are not replaced',
    module: 'engine/lane/lane',
    changes: [['await expireChore(newest);', '']],
  },
  {
    name: 'a failed record of a broadcast ends the process',
    module: 'engine/lane/broadcast',
    changes: [['recorded.catch(() => undefined);', '']],
  },
  {
    name: 'what was stored without an answer is not looked for',
    module: 'engine/lane/find-stored',
    changes: [['due = { lastWriteMs: Math.max(due?.lastWriteMs ?? 0, deps.clock.elapsedMs() + lateMs) };', '']],
  },
  {
    name: 'attempts that nodes have forgotten are not sent again',
    module: 'engine/lane/rebroadcast',
    changes: [['for (const open of lane.transactions.inFlight())', 'for (const open of [])']],
  },
  {
    name: 'a slot whose attempt no node accepts is not released',
    module: 'engine/lane/lane',
    changes: [["signingChore('release slot', createSlotReleaser(lane))", "signingChore('release slot', async () => undefined)"]],
  },
  {
    name: 'gaps are not filled',
    module: 'engine/lane/fill-gaps',
    changes: [['await fill(gaps);', '']],
    faults: ['reorg', 'foreign use'],
  },
  {
    name: 'a gap is filled at the first look',
    module: 'engine/lane/fill-gaps',
    changes: [['if (firstSeenAt === undefined || firstSeenAt === head.hash)\n            return false;', '']],
    faults: ['reorg', 'foreign use'],
  },
  {
    name: 'a bid is raised at every block',
    module: 'core/fees/choose-price',
    changes: [
      ["if (bump?.reason === 'waited' && reaches(bump.live, leastBid(choice)))", 'if (false)'],
      ['if (reaches({ kind:', 'if (true || reaches({ kind:'],
    ],
    faults: ['congestion', 'crash', 'lag'],
  },
  {
    name: 'an event is missing when a transaction is mined',
    module: 'core/transaction/transaction-changes',
    changes: [
      ['const hasEvent = step.status !== previous.status', "const hasEvent = (step.status !== previous.status && step.status !== 'mined')"],
    ],
  },
  {
    name: 'a canceled transaction is recorded as confirmed',
    module: 'core/transaction/lifecycle',
    changes: [["case 'cancel':\n            return 'canceled';", "case 'cancel':\n            return 'confirmed';"]],
  },
  {
    name: 'an attempt is broadcast before it is stored',
    module: 'engine/lane/commit-moves',
    changes: [
      [
        'await deps.store.commit([...inserts,',
        'void deps.directory.chainOf(relayer).broadcastAll(planned.flatMap(({ move }) => move.newAttempt?.raw ?? []));\n    await deps.store.commit([...inserts,',
      ],
    ],
  },
  {
    name: 'a commit is not guarded by the revision that was read',
    module: 'storage/sqlite/sqlite-batch',
    changes: [['if (guarded && changes !== 1)', 'if (false)']],
  },
  {
    name: 'a process that lost the database writes to it',
    module: 'storage/sqlite/sqlite-ownership',
    changes: [['if (fence !== null && fence.get(values) === undefined)', 'if (false)']],
    faults: ['hung owner'],
  },
  {
    name: 'the fence is checked before the first batch only',
    module: 'storage/sqlite/sqlite-ownership',
    changes: [
      ['if (fence !== null && fence.get(values) === undefined)', 'if (fence !== null && values.length > 0 && (values = []) === null)'],
    ],
    faults: ['hung owner'],
  },
  {
    name: 'neither a fence nor revisions guard a commit',
    module: 'storage/sqlite/sqlite-batch',
    changes: [['if (guarded && changes !== 1)', 'if (false)']],
    faults: ['hung owner', 'no fence', 'replace', 'cancel', 'burst'],
  },
  {
    name: 'a change of a transaction is not guarded by the revision that was read',
    module: 'storage/changes',
    changes: [['return [guarded(transactions.update, row)];', 'return [step(transactions.update, row)];']],
    faults: ['hung owner', 'no fence', 'replace', 'cancel', 'burst'],
  },
  {
    name: 'a commit that another owner made impossible counts as written',
    module: 'engine/lane/commit-moves',
    changes: [
      [
        'await deps.store.commit([...inserts, ...nonces, ...changes]);',
        "await deps.store.commit([...inserts, ...nonces, ...changes]).catch((error) => { if (error.name !== 'ConflictError') throw error; });",
      ],
    ],
    faults: ['hung owner', 'no fence', 'burst'],
  },
  {
    name: 'a commit that the fence refused counts as written',
    module: 'engine/lane/commit-moves',
    changes: [
      [
        'await deps.store.commit([...inserts, ...nonces, ...changes]);',
        "await deps.store.commit([...inserts, ...nonces, ...changes]).catch((error) => { if (!error.message.includes('took over')) throw error; });",
      ],
    ],
    faults: ['hung owner', 'burst'],
  },
  {
    name: 'an owner broadcasts what the fence does not let it store',
    module: 'engine/lane/commit-moves',
    changes: [
      [
        'await deps.store.commit([...inserts,',
        'void deps.directory.chainOf(relayer).broadcastAll(planned.flatMap(({ move }) => move.newAttempt?.raw ?? []));\n    await deps.store.commit([...inserts,',
      ],
    ],
    faults: ['hung owner', 'burst'],
  },
  {
    name: 'a new owner does not load what is open',
    module: 'engine/lane/lane',
    changes: [['< revision)\n                        transactions.put(open);', '< revision)\n                        ;']],
    faults: ['hung owner'],
  },
  {
    name: 'taking nonces is not guarded',
    module: 'storage/statements/lanes',
    changes: [['[guarded(lanes.move,', '[step(lanes.move,']],
    faults: ['hung owner', 'no fence', 'burst', 'lost commits', 'slow commits', 'foreign use'],
  },
  {
    name: 'what another owner accepted is never looked for',
    module: 'engine/lane/find-stored',
    changes: [['await hold(ids, () => reload(ids));', '']],
    faults: ['hung owner', 'no fence', 'burst'],
  },
  {
    name: 'a broadcast that no node answered counts as accepted',
    module: 'chains/evm/broadcast',
    changes: [["return { kind: 'unknown', sentence: 'no RPC node answered' };", "return { kind: 'accepted' };"]],
  },
  {
    name: 'Solana: death is proved by answers of different nodes, and without blocks',
    network: 'solana',
    module: 'chains/solana/attempt-outcomes',
    changes: [
      ['const absent = await absence.among(attempts, {', 'const absent = attempts.map((attempt) => ({ attempt, more: 0 })) ?? ({'],
      [
        'const [finalized, statuses, slots] = await rpc.together([',
        'const [finalized, statuses, slots] = await ((calls) => Promise.all(calls.map(({ method, params, read }) => rpc.ask(method, params, read, atHead))))([',
      ],
      ['const isKnown = statuses.slot >= finalized.slot && hasEveryBlock(slots, sinceOf(fields), finalized);', 'const isKnown = true;'],
      ['const second = await searchAgain(proved, answeredBy);', 'const second = { slot: finalized.slot, value: proved.map(() => null) };'],
    ],
  },
  {
    name: 'Solana: an attempt is dead when its blockhash has expired in a block that is not final',
    network: 'solana',
    module: 'chains/solana/history',
    changes: [
      ['params: [{ commitment }]', "params: [{ commitment: 'confirmed' }]"],
      ["{ commitment: 'finalized' }", "{ commitment: 'confirmed' }"],
    ],
    faults: ['reorg', 'late packets', 'lost packets'],
  },
  {
    name: 'Solana: the blocks that could include an attempt are not read',
    network: 'solana',
    module: 'chains/solana/attempt-outcomes',
    changes: [['const absent = await absence.among(attempts, {', 'const absent = attempts.map((attempt) => ({ attempt, more: 0 })) ?? ({']],
    faults: ['lost index', 'snapshot restart', 'crash', 'outage', 'stall', 'full disk'],
  },
  {
    name: 'Solana: a transaction is final in a block that is not finalized',
    network: 'solana',
    module: 'chains/solana/statuses',
    changes: [["isFinal: confirmationStatus === 'finalized'", "isFinal: confirmationStatus !== 'processed'"]],
  },
  {
    name: 'Solana: a cluster with another genesis block is believed',
    network: 'solana',
    module: 'chains/rpc/endpoint',
    changes: [['foreignGenesis = hash === expected ? null : hash;', 'foreignGenesis = null;']],
    faults: ['reset'],
  },
  {
    name: 'Stellar: an envelope that nobody signed displaces ours',
    network: 'stellar',
    module: 'chains/stellar/history',
    changes: [['sender.sequence === sequence && isSigned(sender, address)', 'sender.sequence === sequence']],
    faults: ['forged envelope', 'lost requests'],
  },
  {
    name: 'Stellar: a landed fee bump counts as the earlier one around the same transaction',
    network: 'stellar',
    module: 'engine/lane/block-view',
    changes: [['return receipt.hash !== attempt.hash && current.attempts.length !== seen.attempts.length;', 'return false;']],
    faults: ['slow signer', 'foreign envelope', 'surge', 'lost requests', 'lost answers', 'slow answers', 'outage', 'stall'],
  },
  {
    name: 'Stellar: a network that began again is believed',
    network: 'stellar',
    module: 'engine/lane/doubt-account',
    changes: [['lane.doubts.set(kind,', 'void (kind,']],
    faults: ['reset', 'valid until'],
  },
  {
    name: 'Stellar: a transaction of another account is dead on a network that began again',
    network: 'stellar',
    module: 'chains/stellar/attempt-outcomes',
    changes: [['if (latestLedger < ledger)', 'if (false)']],
    faults: ['reset', 'foreign envelope', 'drops sent', 'stall'],
  },
  {
    name: 'Stellar: a bid that meets the market is raised',
    network: 'stellar',
    module: 'chains/stellar/bump-fee',
    changes: [["if (reason === 'waited' && ", 'if (false && ']],
  },
  {
    name: 'Stellar: expired transactions are broadcast',
    network: 'stellar',
    module: 'engine/lane/due-attempts',
    changes: [
      [
        'if (live === null || isExpired(open, nowMs) || heldBackBy(lane, live) !== null)',
        'if (live === null || heldBackBy(lane, live) !== null)',
      ],
    ],
  },
  {
    name: 'Stellar: one node ends a fee bump that another may have in a ledger',
    network: 'stellar',
    module: 'chains/stellar/attempt-outcomes',
    changes: [['if (!isLost(outcome))', 'if (true)']],
    faults: ['merge', 'foreign envelope', 'lag', 'split gateway'],
  },
  {
    name: 'Stellar: a number that a foreign transaction has used is filled if a node that lags shows it as free',
    network: 'stellar',
    module: 'engine/lane/fill-gaps',
    changes: [['(isDisplaced && !losesBlocks)', 'false']],
    faults: ['split gateway', 'lag', 'full queue', 'foreign use', 'cancel', 'cancel all', 'drops sent', 'stall', 'busy queue'],
  },
  {
    name: 'Stellar: gaps far below ours are filled if final transactions are among them',
    network: 'stellar',
    module: 'engine/lane/fill-gaps',
    changes: [
      ['if (mined !== null || ', 'unused += mined === null ? 0 : 1; if (mined !== null || '],
      ['if (unused > maxGaps) {', 'if (gaps.length > maxGaps) {'],
    ],
    faults: ['lag', 'merge', 'foreign envelope', 'drops sent', 'busy queue'],
  },
  {
    name: 'instances: one that was removed can write',
    instances: 3,
    ...noFence,
    faults: ['hung instance', 'burst'],
  },
  {
    name: 'instances: one that was removed can write, and taking nonces is not guarded',
    instances: 3,
    ...noFence,
    second: { module: 'storage/statements/lanes', changes: [['[guarded(lanes.move,', '[step(lanes.move,']] },
    faults: ['hung instance', 'burst'],
  },
  {
    name: 'instances: one that was removed keeps its lanes',
    instances: 3,
    module: 'storage/postgres/postgres-members',
    changes: [['await shares.endTakenOver();', '']],
    faults: ['hung instance', 'burst'],
  },
  {
    name: 'instances: what one that is gone held is not free',
    instances: 3,
    module: 'storage/postgres/postgres-members',
    changes: [['step(leases.giveAll, { holder: number }),', '']],
    faults: ['hung instance', 'crash'],
  },
  {
    name: 'instances: a lease is given up before its work has ended',
    instances: 3,
    module: 'storage/postgres/lease-shares',
    changes: [
      [
        'const holder = me();\n        try {\n            await endWork(unit);',
        'const holder = me();\n        try {\n            void endWork(unit);',
      ],
    ],
    faults: ['crash', 'handover', 'burst'],
  },
  {
    name: 'instances: a change is not guarded by the revision that was read',
    instances: 3,
    module: 'storage/changes',
    changes: [['return [guarded(transactions.update, row)];', 'return [step(transactions.update, row)];']],
    faults: ['replace', 'cancel', 'burst', 'slow reads', 'slow commits'],
  },
  {
    name: 'instances: what others have changed is not taken in',
    instances: 3,
    module: 'engine/lane/lane',
    changes: [['storedFinder.noteReport();\n            followingElsewhere.wake();', '']],
    faults: ['burst'],
  },
  {
    name: 'instances: a failed look at what others have changed is not repeated',
    instances: 3,
    module: 'engine/lane/lane',
    changes: [['if (storedFinder.isBehind())', 'if (false)']],
    faults: ['failed reads', 'burst'],
  },
  {
    name: 'instances: others hear of a commit before it is written',
    instances: 3,
    module: 'storage/postgres/postgres-members',
    changes: [
      [
        'await store.commit(changes);\n            noteCommitted(changes);',
        'noteCommitted(changes);\n            await store.commit(changes);',
      ],
    ],
    faults: ['burst', 'slow commits'],
  },
  {
    name: 'instances: the position of changes is read after what is open',
    instances: 3,
    module: 'engine/lane/lane',
    changes: [
      ['const { last } = await deps.store.read.changePositions(relayer().id);\n            let after;', 'let after;'],
      ['storedFinder.notePosition(last);', 'storedFinder.notePosition((await deps.store.read.changePositions(relayer().id)).last);'],
    ],
    // One that begins the lane again would load what was missed.
    faults: ['burst', 'slow reads'],
  },
  {
    name: 'instances: what a lost connection did not tell is not looked for',
    instances: 3,
    module: 'storage/postgres/postgres-members',
    changes: [['shares.outdate();\n        callListeners(allNews);', 'shares.outdate();']],
    faults: ['lost observers', 'late news', 'burst'],
  },
  {
    name: 'instances: a change of another one ends a move without a second look',
    instances: 3,
    module: 'engine/lane/remote-lane',
    changes: [['requireRace(error, current.transaction);', 'throw error;']],
    faults: ['replace', 'cancel', 'burst', 'slow reads', 'slow commits'],
  },
];
