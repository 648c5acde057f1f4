import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { type ApiDocument, type Operation, pathOf, readApiDocument } from '../../../support/api-document.js';
import { askRest, type RestAnswer } from '../../../support/app-rig.js';
import { type SolanaService, type StellarService, startSolanaService, startStellarService } from '../../../support/network-service.js';
import type { RunningService, ServiceHome } from '../../../support/service.js';
import { startServiceHere } from '../../../support/service-here.js';
import { waitFor } from '../../../support/wait-for.js';

/** A service with a relayer on one network. */
interface Rig {
  readonly home: ServiceHome;
  readonly service: RunningService;
}

/** A limit that nobody reaches, since its headers are a part of what is told. */
const limited = { RATE_LIMIT_REQUESTS_PER_SECOND: '100000', RATE_LIMIT_BURST_SIZE: '100000' };

/** What the examples call an account, which is the relayer's own here. */
const accounts = {
  stellar: 'GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H',
  solana: '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS',
};

describe('each example of Stellar', () => {
  let rig: StellarService;
  before(async () => {
    rig = await startStellarService({ env: limited, start: startServiceHere });
  });
  after(() => rig?.stop());

  it('is answered as the document says by a relayer on Stellar', async () => {
    const document = await readApiDocument(rig.service.port);
    const own = { '"testnet"': '"local"', [accounts.stellar]: rig.home.address };
    const id = await sendAndReplace(rig, document, 'stellar', own);
    await waitFor(
      'the ledger to hold it',
      async () => {
        rig.ledger.close();
        return (await statusOf(rig, document, id)) === 'confirmed' ? true : undefined;
      },
      120_000,
    );

    const sign = document.operation('signTransaction');
    const { unsigned_xdr } = sign.requests.stellar as { unsigned_xdr: string };
    const envelope = TransactionBuilder.fromXDR(unsigned_xdr, rig.ledger.passphrase).toEnvelope();
    envelope.v1().tx().sourceAccount(xdr.MuxedAccount.keyTypeEd25519(rig.keys.rawPublicKey()));
    const signed = await send(rig, sign, { unsigned_xdr: envelope.toXDR('base64') });
    document.check(sign, signed);
    assert.equal(signed.status, 200, signed.text);
    await readAll(rig, document);
  });
});

describe('each example of Solana', () => {
  let rig: SolanaService;
  before(async () => {
    rig = await startSolanaService({ env: limited, start: startServiceHere });
  });
  after(() => rig?.stop());

  it('is answered as the document says by a relayer on Solana', async () => {
    const document = await readApiDocument(rig.service.port);
    const id = await sendAndReplace(rig, document, 'solana', { [accounts.solana]: rig.home.address });
    await waitFor(
      'the chain to hold it',
      async () => {
        rig.solana.chain.advance(2);
        return (await statusOf(rig, document, id)) === 'confirmed' ? true : undefined;
      },
      120_000,
    );
    await readAll(rig, document);
  });
});

/** Sends the example and replaces it by that of replacing; the record's id. */
async function sendAndReplace(
  rig: Rig,
  document: ApiDocument,
  name: 'stellar' | 'solana',
  own: Readonly<Record<string, string>>,
): Promise<string> {
  const inRig = (body: unknown): unknown =>
    JSON.parse(Object.entries(own).reduce((text, [example, mine]) => text.replaceAll(example, mine), JSON.stringify(body)));
  const sending = document.operation('sendTransaction');
  const sent = await send(rig, sending, inRig(sending.requests[name]));
  document.check(sending, sent);
  assert.equal(sent.status, 200, sent.text);
  const { id } = JSON.parse(sent.text).data;
  const replacing = document.operation('replaceTransaction');
  const replaced = await send(rig, replacing, inRig(replacing.requests[name]), id);
  document.check(replacing, replaced);
  return id;
}

async function statusOf(rig: Rig, document: ApiDocument, id: string): Promise<string> {
  const get = document.operation('getTransaction');
  const answer = await send(rig, get, undefined, id);
  document.check(get, answer);
  assert.equal(answer.status, 200, answer.text);
  return JSON.parse(answer.text).data.status;
}

/** What can be read of a relayer and its transactions. */
async function readAll(rig: Rig, document: ApiDocument): Promise<void> {
  const list = document.operation('listTransactions');
  const listed = await send(rig, list, undefined);
  document.check(list, listed);
  const { id } = JSON.parse(listed.text).data[0];
  for (const name of ['listAttempts', 'getRelayer', 'listRelayers', 'getRelayerStatus', 'getRelayerBalance']) {
    const operation = document.operation(name);
    document.check(operation, await send(rig, operation, undefined, id));
  }
}

function send({ home, service }: Rig, operation: Operation, body: unknown, transactionId = ''): Promise<RestAnswer> {
  const path = pathOf(operation, { relayer_id: home.relayerId, transaction_id: transactionId });
  return askRest(service.port, operation.verb, path, { body: body === undefined ? undefined : JSON.stringify(body) });
}
