import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Account, Asset, Keypair, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import { keccak256 } from 'ethers';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { EvmRequest } from '../../src/core/records/evm.js';
import type { EvmPolicies, RelayerPolicies, SolanaPolicies, StellarPolicies } from '../../src/core/records/relayer.js';
import type { SolanaRequest } from '../../src/core/records/solana.js';
import type { EvmRule, PartRule } from '../../src/core/records/spending-rule.js';
import type { StellarOperation, StellarRequest } from '../../src/core/records/stellar.js';
import type { TransactionView } from '../../src/core/records/transaction.js';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { replaceTransaction } from '../../src/core/transaction/replace-transaction.js';
import { systemProgram } from '../../src/sandbox/solana/instructions.js';
import { startAnvil } from '../support/anvil.js';
import { type EngineRig, type SolanaRig, startEvmRig, startSolanaRig, startStellarRig } from '../support/engine-rig.js';
import { wanted } from '../support/evm.js';
import { startRpcProxy } from '../support/rpc-proxy.js';
import { solanaKey, solanaRequest, transferInstruction } from '../support/solana.js';
import { payment } from '../support/stellar.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

/** What becomes of a transaction that waits unsigned while a policy is narrowed. */
interface Row<Policies, Request> {
  /** The policies at which it is accepted; default: those that forbid nothing. */
  readonly before?: Partial<Policies>;
  readonly narrowed: Partial<Policies>;
  /** The request, if not a payment. `own`: the relayer's account; `contract`: one that can be called, if the network has one. */
  readonly request?: (own: string, contract: string) => Partial<Request>;
  /** The reason of its failure. */
  readonly fails?: RegExp;
  /** The reason why it waits. */
  readonly waits?: RegExp;
}

/** Every policy has rows, or `forbidsNothing`: it changes how transactions are made, not which. */
type Table<Policies, Request> = {
  readonly [K in Exclude<keyof Policies, 'network'>]: readonly Row<Policies, Request>[] | typeof forbidsNothing;
};
const forbidsNothing = 'forbids nothing';

/** How a network is started and used. */
interface Network<Policies, Request> {
  readonly table: Table<Policies, Request>;
  start(test: TestContext, policies: Partial<Policies>, changed?: (chain: Chain) => Chain): Promise<Started<Request>>;
}

interface Started<Request> {
  readonly rig: EngineRig;
  send(request: Partial<Request>): Promise<TransactionView>;
  readonly payment: Partial<Request>;
  readonly contract: string;
}

const askedTooLate = /^the rule all asks for approvals now, without which it was accepted; send it again$/;
const anyRule: EvmRule = {
  id: 'any',
  effect: 'allow',
  to: null,
  functions: null,
  typedData: null,
  deadlineField: null,
  arguments: [],
  maxValueWei: null,
  maxCostWei: null,
  apiKeyIds: null,
  limits: [],
  approvals: null,
  approvalMs: null,
};
const anyPart: PartRule = {
  id: 'any',
  effect: 'allow',
  kinds: null,
  calls: null,
  to: null,
  assets: null,
  maxAmount: null,
  maxCost: null,
  apiKeyIds: null,
  limits: [],
  approvals: null,
  approvalMs: null,
};
const evmReceiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const evm: Network<EvmPolicies, EvmRequest> = {
  table: {
    minBalanceWei: [{ narrowed: { minBalanceWei: 10n ** 30n }, waits: /^waiting: insufficient balance/ }],
    gasPriceCapWei: [
      { narrowed: { gasPriceCapWei: 1n }, waits: /^waiting: base fee .* is above gas_price_cap/ },
      {
        request: () => ({ gasPriceWei: 10n ** 11n }),
        narrowed: { gasPriceCapWei: 10n ** 10n },
        fails: /^gas_price is 100000000000 wei; the relayer's gas_price_cap allows at most 10000000000 wei$/,
      },
    ],
    whitelistReceivers: [
      { narrowed: { whitelistReceivers: [] }, fails: /^to is 0x70997970.* is not in the relayer's whitelist_receivers$/ },
      {
        request: () => ({ to: undefined, data: '0x00', valueWei: 0n }),
        narrowed: { whitelistReceivers: [evmReceiver.toLowerCase()] },
        fails: /whitelist_receivers does not allow creating contracts$/,
      },
    ],
    rules: [
      {
        narrowed: { rules: [{ ...anyRule, id: 'others', to: [`0x${'11'.repeat(20)}`] }] },
        fails: /^to is allowed by no rule of the relayer; the closest, others, is not for its receiver$/,
      },
      { narrowed: { rules: [{ ...anyRule, id: 'none', effect: 'deny' }] }, fails: /^to is denied by the rule none$/ },
      { narrowed: { rules: [{ ...anyRule, id: 'all', effect: 'approve' }] }, fails: askedTooLate },
      {
        narrowed: { rules: [{ ...anyRule, id: 'cheap', maxCostWei: 10n ** 9n }] },
        waits:
          /^waiting: the transaction may cost \d+ wei, and max_cost of the rule cheap is 1000000000 wei; will send when the price falls$/,
      },
      {
        before: { rules: [{ ...anyRule, id: 'cheap', maxCostWei: 10n ** 9n }] },
        narrowed: { rules: null },
        waits: /^waiting: the transaction may cost \d+ wei, and max_cost of the rule cheap is 1000000000 wei/,
      },
      {
        request: () => ({ gasPriceWei: 10n ** 11n }),
        narrowed: { rules: [{ ...anyRule, id: 'cheap', maxCostWei: 10n ** 9n }] },
        fails: /^gas_price is allowed by no rule of the relayer; the closest, cheap, is not for its cost of at least \d+ wei$/,
      },
    ],
    eip1559Pricing: forbidsNothing,
    gasLimitEstimation: [
      { narrowed: { gasLimitEstimation: false }, fails: /gas_limit is required: the policy gas_limit_estimation is false$/ },
    ],
    maxInFlight: forbidsNothing,
    includeRevertData: forbidsNothing,
    allowTransactionSigning: forbidsNothing,
    signing: forbidsNothing,
  },
  async start(test, policies, changedChain) {
    const anvil = await startAnvil({ noMining: true });
    const rig = await startEvmRig(anvil, { folder: await temporaryFolder(), policies, changedChain });
    test.after(async () => {
      await rig.stop();
      await anvil.stop();
    });
    return { rig, send: rig.send, payment: {}, contract: '' };
  },
};

const [holder, receiver] = [Keypair.random().publicKey(), Keypair.random().publicKey()];
const passphrase = 'Standalone Network ; February 2017';

/** A payment whose source is `holder`, for which the relayer's key signs. */
const paymentOfHolder: StellarOperation = { ...payment(receiver, 5n), sourceAccount: holder };

/** The same as an envelope. */
function envelopeOfHolder(own: string): string {
  const operation = Operation.payment({ destination: receiver, amount: '0.0000005', asset: Asset.native(), source: holder });
  const built = new TransactionBuilder(new Account(own, '1'), { fee: '100', networkPassphrase: passphrase });
  return built.addOperation(operation).setTimeout(600).build().toXdr();
}

/** A call of a contract whose entries are archived. */
function callOfArchived(_own: string, contractAddress: string): Partial<StellarRequest> {
  const args = [{ kind: 'u32', value: 1 } as const];
  return { operations: [{ kind: 'invoke_contract', contractAddress, functionName: 'increment', args, auth: undefined }] };
}

const stellar: Network<StellarPolicies, StellarRequest> = {
  table: {
    minBalanceStroops: [{ narrowed: { minBalanceStroops: 10n ** 15n }, waits: /^waiting: insufficient balance/ }],
    maxFeeStroops: [{ narrowed: { maxFeeStroops: 50n }, fails: /the relayer's policy max_fee allows a fee of 50 stroops/ }],
    allowAccountChanges: [
      {
        before: { allowAccountChanges: ['signers'] },
        narrowed: { allowAccountChanges: [] },
        request: () => ({ operations: [{ kind: 'listed', type: 'set_options', fields: { master_weight: 1 } }] }),
        fails: /^the transaction has an operation 1 that takes away .* allow_account_changes does not name$/,
      },
    ],
    checkMemoRequired: [
      {
        before: { checkMemoRequired: false },
        narrowed: { checkMemoRequired: true },
        request: () => ({ operations: [payment(holder, 5n)] }),
        fails: /requires a memo \(SEP-29\)/,
      },
    ],
    operationSourceAccounts: (['operations', 'transaction_xdr'] as const).map((form) => ({
      before: { operationSourceAccounts: [holder] },
      narrowed: { operationSourceAccounts: [receiver] },
      request: (own: string) => (form === 'operations' ? { operations: [paymentOfHolder] } : { transactionXdr: envelopeOfHolder(own) }),
      fails: new RegExp(`^the transaction has an operation 1 of ${holder}, .* operation_source_accounts$`),
    })),
    resourceFeeMarginPercent: forbidsNothing,
    restoreArchived: [
      { narrowed: { restoreArchived: false }, request: callOfArchived, fails: /the relayer's policy restore_archived forbids to restore$/ },
    ],
    rules: [
      {
        narrowed: { rules: [{ ...anyPart, id: 'small', maxAmount: 1n }] },
        fails: /^operations\[0\] is allowed by no rule of the relayer; the closest, small, is not for its amount$/,
      },
      { narrowed: { rules: [{ ...anyPart, id: 'none', effect: 'deny' }] }, fails: /^operations\[0\] is denied by the rule none$/ },
      {
        narrowed: { rules: [{ ...anyPart, id: 'cheap', maxCost: 2_004n }] },
        fails: /^operations\[0\] is allowed by no rule of the relayer; the closest, cheap, is not for its cost of at least 2005$/,
      },
      { narrowed: { rules: [{ ...anyPart, id: 'all', effect: 'approve' }] }, fails: askedTooLate },
    ],
    signing: forbidsNothing,
  },
  async start(test, policies, changed) {
    const accounts = { [holder]: 1_000_000_000n, [receiver]: 1_000_000_000n };
    const rig = await startStellarRig({
      folder: await temporaryFolder(),
      policies,
      accounts,
      nodeCount: 2,
      ...(changed === undefined ? {} : { changed }),
    });
    test.after(() => rig.stop());
    const { state } = rig.node.ledger.latest();
    const known = state.accounts.get(holder);
    assert.ok(known !== undefined);
    state.accounts.set(holder, { ...known, signers: [{ key: rig.relayer.address, weight: 1 }], subEntries: 1 });
    state.data.set(`${holder}:config.memo_required`, {
      account: holder,
      name: 'config.memo_required',
      value: Buffer.from('1'),
      modifiedAt: 1,
    });
    rig.node.ledger.archiveContracts();
    return { rig, send: rig.send, payment: { operations: [payment(receiver, 5n)] }, contract: rig.node.ledger.testContract };
  },
};

const solanaReceiver = solanaKey().address;
const stranger = solanaKey().address;

const solana: Network<SolanaPolicies, SolanaRequest> = {
  table: {
    minBalanceLamports: [{ narrowed: { minBalanceLamports: 10n ** 15n }, waits: /^waiting: insufficient balance/ }],
    maxAllowedFeeLamports: [{ narrowed: { maxAllowedFeeLamports: 1n }, fails: /^the transaction .*max_allowed_fee_lamports/ }],
    allowedPrograms: [
      { narrowed: { allowedPrograms: [stranger] }, fails: /^the transaction calls the program 1+, which is not in .*allowed_programs$/ },
    ],
    allowedAccounts: [
      {
        narrowed: { allowedAccounts: [stranger] },
        fails: /^the transaction uses the account .* is not in the relayer's allowed_accounts$/,
      },
    ],
    disallowedAccounts: [
      {
        narrowed: { disallowedAccounts: [solanaReceiver] },
        fails: /^the transaction uses the account .* is in the relayer's disallowed_accounts$/,
      },
    ],
    maxSignatures: [{ narrowed: { maxSignatures: 0 }, fails: /^the transaction needs 1 signatures; .*max_signatures allows at most 0$/ }],
    maxTxDataSizeBytes: [
      { narrowed: { maxTxDataSizeBytes: 100 }, fails: /^the transaction takes \d+ bytes .*max_tx_data_size allows at most 100$/ },
    ],
    allowAccountChanges: [
      {
        before: { allowAccountChanges: ['allocate'] },
        narrowed: { allowAccountChanges: [] },
        request: (own) => ({
          instructions: [
            { programId: systemProgram, accounts: [{ pubkey: own, isSigner: true, isWritable: true }], data: 'CAAAAAAAAAAAAAAA' },
          ],
        }),
        fails: /^the transaction has an instruction 0 that .* allow_account_changes/,
      },
    ],
    rules: [
      {
        narrowed: { rules: [{ ...anyPart, id: 'small', maxAmount: 1n }] },
        fails: /^instructions\[0\] is allowed by no rule of the relayer; the closest, small, is not for its amount$/,
      },
      { narrowed: { rules: [{ ...anyPart, id: 'none', effect: 'deny' }] }, fails: /^instructions\[0\] is denied by the rule none$/ },
      {
        narrowed: { rules: [{ ...anyPart, id: 'cheap', maxCost: 10_004_999n }] },
        fails: /^instructions\[0\] is allowed by no rule of the relayer; the closest, cheap, is not for its cost of at least 10005000$/,
      },
      { narrowed: { rules: [{ ...anyPart, id: 'all', effect: 'approve' }] }, fails: askedTooLate },
    ],
    signing: forbidsNothing,
  },
  async start(test, policies, changed) {
    const rig = await startSolanaRig({ folder: await temporaryFolder(), policies, changed, hasSecondNode: true });
    test.after(() => rig.stop());
    return {
      rig,
      send: rig.send,
      contract: '',
      payment: { instructions: [transferInstruction(rig.key.address, solanaReceiver, 10_000_000n)] },
    };
  },
};

/** Changes the relayer as an operator does. */
function change({ directory, relayer }: EngineRig, changes: { readonly paused?: boolean; readonly policies?: object }): void {
  const now = directory.relayer(relayer.id) ?? relayer;
  const policies = { ...now.policies, ...changes.policies } as RelayerPolicies;
  directory.put({ relayer: { ...now, ...changes, policies }, chain: directory.chainOf(relayer), signer: directory.signerOf(relayer) });
}

async function endOf(rig: EngineRig, id: string, { fails, waits }: Pick<Row<unknown, unknown>, 'fails' | 'waits'>): Promise<void> {
  const reason = (fails ?? waits) as RegExp;
  let last: TransactionView['transaction'] | undefined;
  await waitFor(`${id} to say ${reason}`, async () => {
    last = (await rig.view(id)).transaction;
    assert.equal((await rig.attempts(id)).length, 0, `signed: ${last.statusReason}`);
    return reason.test(last.statusReason ?? '') || undefined;
  }).catch((error: unknown) => {
    throw new Error(`${error}: ${last?.status}, ${last?.statusReason}`);
  });
  assert.equal(last?.status, fails === undefined ? 'pending' : 'failed');
}

function tests<Policies, Request>(name: string, { table, start }: Network<Policies, Request>): void {
  for (const [policy, rows] of Object.entries<readonly Row<Policies, Request>[] | typeof forbidsNothing>(table)) {
    if (rows === forbidsNothing) continue;
    for (const [index, row] of rows.entries()) {
      const { before = {}, narrowed, request, fails } = row;
      const which = `${name}: ${policy}${index === 0 ? '' : ` (${index + 1})`}`;

      it(`${which}: a transaction that waits ${fails === undefined ? 'goes on waiting' : 'fails'} when it is narrowed`, async (test) => {
        const { rig, send, payment: usual, contract } = await start(test, before);
        change(rig, { paused: true });
        const { id } = (await send(request?.(rig.relayer.address, contract) ?? usual)).transaction;
        change(rig, { paused: false, policies: narrowed });
        await endOf(rig, id, row);
      });

      if (fails === undefined) continue;
      it(`${which}: a draft that was begun before it is narrowed is not signed`, async (test) => {
        let narrow = (): void => undefined;
        const {
          rig,
          send,
          payment: usual,
          contract,
        } = await start(test, before, (chain) => ({
          ...chain,
          async draft(draftRequest) {
            const drafted = await chain.draft(draftRequest);
            narrow();
            return drafted;
          },
        }));
        narrow = () => {
          narrow = () => undefined;
          change(rig, { policies: narrowed });
        };
        const { id } = (await send(request?.(rig.relayer.address, contract) ?? usual)).transaction;
        await endOf(rig, id, row);
      });

      it(`${which}: the same is signed if nothing is narrowed`, async (test) => {
        const { rig, send, payment: usual, contract } = await start(test, before);
        const { id } = (await send(request?.(rig.relayer.address, contract) ?? usual)).transaction;
        await waitFor('an attempt', async () => (await rig.attempts(id)).length === 1 || undefined);
      });
    }
  }
}

describe('a policy that is narrowed while an attempt is out', { concurrency: 3 }, () => {
  const forbidden = /^to is 0x70997970.* is not in the relayer's whitelist_receivers/;

  it('fee bump: content that it forbids is not signed at a higher price, and a cancel still is', async (test) => {
    const anvil = await startAnvil({ noMining: true });
    /** The first attempt, which the node takes and no block gets. */
    let kept: string | null = null;
    const proxy = await startRpcProxy({
      target: anvil.url,
      async answer(call, ask) {
        const [param] = call.params;
        if (call.method === 'eth_sendRawTransaction') kept ??= String(param);
        const hash = kept === null ? null : keccak256(kept);
        if (hash !== null && call.method === 'eth_sendRawTransaction' && param === kept) return { result: hash };
        if (hash !== null && call.method === 'eth_getTransactionByHash' && param === hash) return { result: { hash } };
        return ask(call);
      },
    });
    const network = { averageBlockTimeMs: 100 };
    const rig = await startEvmRig({ url: proxy.url, rpc: anvil.rpc }, { folder: await temporaryFolder(), network });
    test.after(async () => {
      await rig.stop();
      await proxy.stop();
      await anvil.stop();
    });
    const { id } = (await rig.send()).transaction;
    await rig.until(id, 'submitted');
    change(rig, { policies: { whitelistReceivers: [] } });
    let last: string | null = null;
    await waitFor('the record to say why', async () => {
      await anvil.rpc('anvil_setNextBlockBaseFeePerGas', ['0x174876e800']);
      await anvil.mine();
      rig.clock.moveOn(10_000);
      assert.deepEqual((await rig.attempts(id)).map(({ purpose, fields }) => [purpose, fields]).slice(1), []);
      last = (await rig.view(id)).transaction.statusReason;
      return /^fee not increased: to is .* whitelist_receivers; .*cancel the transaction/.test(last ?? '') || undefined;
    }).catch((error: unknown) => {
      throw new Error(`${error}: ${last}`);
    });
    await cancelTransaction(rig.deps, rig.relayer, id);
    await rig.untilWithBlocks(id, 'canceled');
  });

  it('replace: a draft that was begun before it is narrowed is refused', async (test) => {
    let narrow = (): void => undefined;
    const { rig, send } = await evm.start(test, {}, (chain) => ({
      ...chain,
      async draft(request) {
        const drafted = await chain.draft(request);
        narrow();
        return drafted;
      },
    }));
    const { id } = (await send({})).transaction;
    await rig.until(id, 'submitted');
    narrow = () => change(rig, { policies: { whitelistReceivers: [] } });
    await assert.rejects(replaceTransaction(rig.deps, rig.relayer, id, wanted({ valueWei: 2n })), {
      reason: 'RECEIVER_NOT_ALLOWED',
      message: forbidden,
    });
    assert.equal((await rig.attempts(id)).length, 1);
  });

  it('Solana: a transaction whose attempts are dead fails instead of being signed again, replaced or not', async (test) => {
    const { rig, send, payment: usual } = await solana.start(test, {});
    const { chain } = (rig as SolanaRig).solana;
    chain.pool.losesPackets = true;
    const ids = [(await send(usual)).transaction.id, (await send(usual)).transaction.id] as const;
    for (const id of ids) await rig.until(id, 'submitted');
    const replacement = { instructions: [transferInstruction(rig.relayer.address, solanaReceiver, 20_000_000n)] };
    await replaceTransaction(rig.deps, rig.relayer, ids[1], solanaRequest(replacement));
    change(rig, { policies: { allowedPrograms: [stranger] } });
    chain.advance(150 + 1 + 31 + 2);
    for (const id of ids) {
      const { transaction } = await rig.untilWithBlocks(id, 'failed');
      assert.match(
        transaction.statusReason ?? '',
        /cannot be sent again: the transaction calls the program 1+, which is not in .*allowed_programs$/,
      );
      assert.equal((await rig.attempts(id)).length, 1);
    }
  });
});

describe('a policy that is narrowed', { concurrency: 3 }, () => {
  tests('EVM', evm);
  tests('Stellar', stellar);
  tests('Solana', solana);
});
