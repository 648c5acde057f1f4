import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  Address,
  authorizeEntry,
  Keypair,
  nativeToScVal,
  Operation,
  rpc,
  scValToNative,
  type Transaction,
  TransactionBuilder,
  xdr,
} from '@stellar/stellar-sdk';
import type { AppliedTransaction } from '../../src/sandbox/stellar/apply.js';
import type { StellarLedger } from '../../src/sandbox/stellar/ledger.js';
import { startStellar } from '../../src/sandbox/stellar/server.js';
import { testWasm } from '../../src/sandbox/stellar/soroban/test-contract.js';
import { createWallet, type Wallet } from '../support/stellar-wallet.js';
import { change, hashOf, sorobanDataOf, v1Of } from '../support/stellar-xdr.js';

interface Rig {
  readonly ledger: StellarLedger;
  readonly server: rpc.Server;
  readonly alice: Wallet;
  readonly bob: Wallet;
  /** Simulates, declares the result with `feeStroops` as the inclusion fee, and signs. */
  prepare(operation: xdr.Operation, feeStroops?: bigint): Promise<Transaction>;
  /** Returns the status of the node, with the code of an error. */
  send(transaction: { toXdr(): string }): string;
  /** Returns the value or the failure code in the latest ledger. */
  ended(transaction: { hash(): Uint8Array }): unknown;
}

/** Runs a test with a ledger and the SDK's client. */
async function withRig(test: (rig: Rig) => Promise<void>): Promise<void> {
  const node = await startStellar();
  const { ledger } = node;
  const server = new rpc.Server(node.url, { allowHttp: true });
  const alice = createWallet(ledger);
  try {
    await test({
      ledger,
      server,
      alice,
      bob: createWallet(ledger),
      async prepare(operation, feeStroops = 100n) {
        const simulated = await server.simulateTransaction(alice.build([operation]));
        if (!rpc.Api.isSimulationSuccess(simulated)) throw new Error(simulated.error);
        const soroban = simulated.transactionData.build();
        const invocation = invocationOf(operation);
        if (simulated.result !== undefined && invocation.auth.length === 0) change(invocation, { auth: simulated.result.auth });
        return alice.build([operation], { soroban, feeStroops: feeStroops + BigInt(simulated.minResourceFee) });
      },
      send(transaction) {
        const { submission } = ledger.submit(transaction.toXdr());
        return submission.status === 'ERROR' ? submission.result.result.type : submission.status;
      },
      ended(transaction) {
        const applied = ledger.find(hashOf(transaction))?.transaction;
        if (applied === undefined) return 'not there';
        const value = returnValueOf(applied);
        if (applied.isSuccess && value !== null) return scValToNative(value);
        const [operation] = 'results' in applied.result.result ? applied.result.result.results : [];
        return operation?.type === 'opInner' ? operation.tr.value.type : operation?.type;
      },
    });
  } finally {
    await node.stop();
  }
}

const u32 = (value: number): xdr.ScVal => nativeToScVal(value, { type: 'u32' });

function invoke({ ledger }: Pick<Rig, 'ledger'>, name: string, ...args: xdr.ScVal[]): xdr.Operation {
  return Operation.invokeContractFunction({ contract: ledger.testContract, function: name, args });
}

function invocationOf(operation: xdr.Operation): xdr.InvokeHostFunctionOp {
  return xdr.expectUnionVariant(operation.body, 'invokeHostFunction').invokeHostFunctionOp;
}

function returnValueOf({ meta }: AppliedTransaction): xdr.ScVal | null {
  return xdr.expectUnionVariant(meta, 'v4').v4.sorobanMeta?.returnValue ?? null;
}

/** Returns the transaction with a changed declaration. */
function redeclare({ ledger, alice }: Rig, transaction: Transaction, alter: (data: xdr.SorobanTransactionData) => void): Transaction {
  const envelope = transaction.toEnvelope();
  alter(sorobanDataOf(envelope));
  change(v1Of(envelope), { signatures: [] });
  const changed = TransactionBuilder.fromXdr(envelope, ledger.passphrase) as Transaction;
  changed.sign(alice.keys);
  return changed;
}

describe('local Stellar: Soroban', () => {
  it('a call is simulated and declared, returns its value, and gets its unused fee refunded', () =>
    withRig(async (rig) => {
      const { ledger, alice } = rig;
      const call = await rig.prepare(invoke(rig, 'add', u32(2), u32(40)));
      const before = alice.balance();
      assert.equal(rig.send(call), 'PENDING');
      ledger.close();
      assert.equal(rig.ended(call), 42);
      const charged = before - alice.balance();
      assert.ok(charged > 100n && charged <= BigInt(call.fee), `${charged} of ${call.fee}`);
      const told = ledger.find(hashOf(call))?.transaction.result.feeCharged;
      assert.equal(told, charged);
    }));

  it('contract data persists and is found by its key', () =>
    withRig(async (rig) => {
      for (const [by, total] of [
        [5, 5],
        [7, 12],
      ] as const) {
        const call = await rig.prepare(invoke(rig, 'increment', u32(by)));
        assert.equal(rig.send(call), 'PENDING');
        rig.ledger.close();
        assert.equal(rig.ended(call), total);
      }
      const held = await rig.server.getContractData(rig.ledger.testContract, nativeToScVal('COUNTER', { type: 'symbol' }));
      assert.equal(scValToNative(xdr.expectUnionVariant(held.val, 'contractData').contractData.val), 12);
    }));

  it('an invalid call fails in the simulation', () =>
    withRig(async (rig) => {
      const wrong = [
        [invoke(rig, 'fail'), /^HostError: Error\(Contract, #1\)/],
        [invoke(rig, 'unknown'), /^HostError: Error\(WasmVm, MissingValue\)/],
        [invoke(rig, 'add', u32(1)), /^HostError: Error\(WasmVm, UnexpectedSize\)/],
        [
          Operation.invokeContractFunction({ contract: Address.contract(Buffer.alloc(32)).toString(), function: 'echo', args: [] }),
          /^HostError: Error\(Storage, MissingValue\)/,
        ],
        [Operation.bumpSequence({ bumpTo: '0' }), /unsupported operation type/],
      ] as const;
      for (const [operation, reason] of wrong) await assert.rejects(rig.prepare(operation), { message: reason });
    }));

  it('a call that fails on the ledger is trapped, pays, and uses its sequence number', () =>
    withRig(async (rig) => {
      const { alice, ledger } = rig;
      const good = await rig.prepare(invoke(rig, 'add', u32(1), u32(2)));
      const data = sorobanDataOf(good.toEnvelope());
      const before = { balance: alice.balance(), sequence: alice.sequence() };
      const failing = alice.build([invoke(rig, 'fail')], { soroban: data, feeStroops: BigInt(good.fee) });
      assert.equal(rig.send(failing), 'PENDING');
      ledger.close();
      assert.equal(rig.ended(failing), 'invokeHostFunctionTrapped');
      assert.equal(alice.sequence(), before.sequence + 1n);
      assert.ok(alice.balance() < before.balance);
    }));

  it('a call must declare its footprint', () =>
    withRig(async (rig) => {
      const call = await rig.prepare(invoke(rig, 'increment', u32(1)));
      const undeclared = redeclare(rig, call, (data) => change(data.resources.footprint, { readWrite: [] }));
      rig.send(undeclared);
      rig.ledger.close();
      assert.equal(rig.ended(undeclared), 'invokeHostFunctionTrapped');
    }));

  it('a call must declare and pay its resources', () =>
    withRig(async (rig) => {
      const steps = [
        [(data: xdr.SorobanTransactionData) => change(data.resources, { instructions: 1 }), 'invokeHostFunctionResourceLimitExceeded'],
        [(data: xdr.SorobanTransactionData) => change(data.resources, { writeBytes: 1 }), 'invokeHostFunctionResourceLimitExceeded'],
      ] as const;
      for (const [alter, code] of steps) {
        const call = redeclare(rig, await rig.prepare(invoke(rig, 'increment', u32(1))), alter);
        assert.equal(rig.send(call), 'PENDING');
        rig.ledger.close();
        assert.equal(rig.ended(call), code);
      }
    }));

  it('an impossible declaration is rejected at once', () =>
    withRig(async (rig) => {
      const { alice } = rig;
      const operation = invoke(rig, 'increment', u32(1));
      const call = await rig.prepare(operation);
      const changes: ((data: xdr.SorobanTransactionData) => void)[] = [
        (data) => change(data, { resourceFee: 1n }),
        (data) => change(data.resources.footprint, { readOnly: data.resources.footprint.readWrite }),
        (data) => change(data.resources, { instructions: 4_000_000_000 }),
      ];
      for (const alter of changes) assert.equal(rig.send(redeclare(rig, call, alter)), 'txSorobanInvalid');
      const beyondFee = redeclare(rig, call, (data) => change(data, { resourceFee: BigInt(call.fee) + 1n }));
      assert.equal(rig.send(beyondFee), 'txMalformed');
      assert.equal(rig.send(alice.build([operation])), 'txMalformed');
      const soroban = sorobanDataOf(call.toEnvelope());
      assert.equal(rig.send(alice.build([operation, operation], { soroban, feeStroops: 1_000_000n })), 'txMalformed');
      assert.equal(rig.send(alice.build([Operation.bumpSequence({ bumpTo: '0' })], { soroban })), 'txMalformed');
    }));

  it('a fee-bump envelope must bid ten times the inclusion fee; the resource fee comes on top', () =>
    withRig(async (rig) => {
      const { alice, ledger } = rig;
      const call = await rig.prepare(invoke(rig, 'echo', u32(1)), 150n);
      assert.equal(rig.send(call), 'PENDING');
      const next = await rig.prepare(invoke(rig, 'echo', u32(2)), 100n);
      const resourceFee = sorobanDataOf(next.toEnvelope()).resourceFee;
      const refused = ledger.submit(alice.bump(next, resourceFee + 2_999n).toXdr()).submission;
      assert.ok(refused.status === 'ERROR');
      assert.equal(refused.result.feeCharged, resourceFee + 3_000n);
      const winner = alice.bump(next, resourceFee + 3_000n);
      assert.equal(rig.send(winner), 'PENDING');
      ledger.close();
      assert.equal(rig.ended(call), 'not there');
      const applied = ledger.find(hashOf(winner))?.transaction;
      assert.ok(applied !== undefined);
      const value = returnValueOf(applied);
      assert.equal(value && scValToNative(value), 2);
    }));

  it('classic and Soroban transactions of an account neither queue together nor outbid each other', () =>
    withRig(async (rig) => {
      const { alice, bob, ledger } = rig;
      const call = await rig.prepare(invoke(rig, 'echo', u32(1)));
      const classic = alice.build([Operation.bumpSequence({ bumpTo: '0' })]);
      assert.equal(rig.send(call), 'PENDING');
      assert.equal(rig.send(classic), 'TRY_AGAIN_LATER');
      assert.equal(rig.send(alice.bump(classic, 1_000_000n)), 'TRY_AGAIN_LATER');
      ledger.forget();
      assert.equal(rig.send(classic), 'PENDING');
      assert.equal(rig.send(call), 'TRY_AGAIN_LATER');
      assert.equal(rig.send(bob.bump(call, 1_000_000n)), 'TRY_AGAIN_LATER');
    }));

  it('the source authorizes by its signature', () =>
    withRig(async (rig) => {
      const own = await rig.prepare(invoke(rig, 'greet', new Address(rig.alice.address).toScVal()));
      assert.equal(rig.send(own), 'PENDING');
      rig.ledger.close();
      assert.equal(rig.ended(own), null);
    }));

  for (const isBound of [false, true]) {
    it(`another address authorizes by its own signature${isBound ? ' over its address (CAP-71)' : ''}, which works once`, () =>
      withRig(async (rig) => {
        const { alice, bob, ledger } = rig;
        const greetBob = invoke(rig, 'greet', new Address(bob.address).toScVal());
        const simulated = await rig.server.simulateTransaction(alice.build([greetBob]));
        assert.ok(rpc.Api.isSimulationSuccess(simulated) && simulated.result !== undefined);
        const [asked] = simulated.result.auth;
        assert.ok(asked !== undefined);
        const { address } = xdr.expectUnionVariant(asked.credentials, 'sorobanCredentialsAddress');
        const bound = xdr.SorobanCredentials.sorobanCredentialsAddressV2(address);
        const { rootInvocation } = asked;
        const needed = isBound ? new xdr.SorobanAuthorizationEntry({ rootInvocation, credentials: bound }) : asked;
        const declared = { soroban: simulated.transactionData.build(), feeStroops: 100n + BigInt(simulated.minResourceFee) + 10_000n };
        const signedBy = async (keys: Keypair): Promise<xdr.Operation> => {
          const operation = invoke(rig, 'greet', new Address(bob.address).toScVal());
          const until = ledger.latest().sequence + 100;
          change(invocationOf(operation), { auth: [await authorizeEntry(needed, keys, until, ledger.passphrase)] });
          return operation;
        };
        const wanted = ['invokeHostFunctionTrapped', 'invokeHostFunctionTrapped', null, 'invokeHostFunctionTrapped'];
        const unsigned = invoke(rig, 'greet', new Address(bob.address).toScVal());
        change(invocationOf(unsigned), { auth: [needed] });
        // Without a signature; with a wrong one; with the right one; with the same one again.
        const signed = await signedBy(bob.keys);
        for (const [index, operation] of [unsigned, await signedBy(Keypair.random()), signed, signed].entries()) {
          const call = alice.build([operation], declared);
          assert.equal(rig.send(call), 'PENDING');
          ledger.close();
          assert.equal(rig.ended(call), wanted[index]);
        }
      }));
  }

  it('code is uploaded, instantiated as a contract and called', () =>
    withRig(async (rig) => {
      const { alice, ledger } = rig;
      const wasm = Buffer.concat([testWasm, Buffer.from([0, 1, 7])]);
      const upload = await rig.prepare(Operation.uploadContractWasm({ wasm }));
      rig.send(upload);
      ledger.close();
      const wasmHash = rig.ended(upload) as Buffer;
      const create = await rig.prepare(
        Operation.createCustomContract({ address: new Address(alice.address), wasmHash, salt: Buffer.alloc(32, 3) }),
      );
      assert.equal(rig.send(create), 'PENDING');
      ledger.close();
      const contract = String(rig.ended(create));
      assert.match(contract, /^C[A-Z0-9]{55}$/);
      const call = await rig.prepare(Operation.invokeContractFunction({ contract, function: 'add', args: [u32(1), u32(2)] }));
      assert.equal(rig.send(call), 'PENDING');
      ledger.close();
      assert.equal(rig.ended(call), 3);
      await assert.rejects(rig.prepare(Operation.uploadContractWasm({ wasm: Buffer.from('not code') })), /WasmVm, InvalidAction/);
    }));
});
