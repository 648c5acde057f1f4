import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { StrKey } from '@stellar/stellar-sdk';
import { type ApiDocument, type Operation, pathOf, readApiDocument } from '../../../support/api-document.js';
import { askRest, type RestAnswer } from '../../../support/app-rig.js';
import { type Sandbox, startSandbox } from '../../../support/sandbox.js';
import { waitFor } from '../../../support/wait-for.js';

/** The relayers of the sandbox, by the type of the network that an example's name begins with. */
const relayers = { evm: 'sandbox', stellar: 'sandbox-stellar', solana: 'sandbox-solana' } as const;

/** Accounts that stand for the relayer's own in the examples. */
const placeholders = {
  stellar: 'GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H',
  solana: '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS',
};

let sandbox: Sandbox;
let document: ApiDocument;
before(async () => {
  // A limit that no call reaches, because its headers are part of the document.
  sandbox = await startSandbox({ RATE_LIMIT_REQUESTS_PER_SECOND: '100000', RATE_LIMIT_BURST_SIZE: '100000' });
  document = await readApiDocument(portOf(sandbox));
});
after(() => sandbox?.stop());

describe('each call that the reference page prefills', () => {
  it('each call that the reference page prefills: succeeds in a fresh sandbox and leaves its relayers as they are', async () => {
    const relayersBefore = await listed('listRelayers');
    const failures: string[] = [];
    for (const operation of document.operations.filter(isPrefilled)) {
      const [body] = Object.values(operation.requests);
      const answer = await send(operation, pathOf(operation, examplesOfPath(operation)), body);
      if (answer.status !== successOf(operation)) failures.push(`${operation.id}: ${answer.status} ${answer.text}`);
    }
    assert.deepEqual(failures, []);
    for (const [id, name] of [
      ['deleteRelayer', 'relayer_id'],
      ['deleteSigner', 'signer_id'],
      ['deleteNotification', 'notification_id'],
      ['deletePlugin', 'plugin_id'],
    ] as const) {
      const operation = document.operation(id);
      assert.equal((await send(operation, pathOf(operation, { [name]: String(madeByExamples[name]) }))).status, 200, id);
    }
    assert.deepEqual(await listed('listRelayers'), relayersBefore);
    const ids = document.operations.filter(isPrefilled).map(({ id }) => id);
    for (const id of ['sendTransaction', 'signTypedData', 'createRelayer', 'createNotification', 'callRpc', 'updateNetwork'])
      assert.ok(ids.includes(id), id);
    for (const id of ['deleteRelayer', 'updateRelayer', 'deleteSigner']) assert.ok(!ids.includes(id), id);
  });

  it('the sandbox of the reference page: has the bundled networks beside the local chains', async () => {
    const operation = document.operation('listNetworks');
    const { text } = await send(operation, '/api/v1/networks?per_page=100');
    const names = JSON.parse(text).data.map(({ id }: { id: string }) => id);
    for (const id of ['evm:sandbox', 'evm:mainnet', 'evm:sepolia', 'stellar:testnet', 'solana:devnet']) assert.ok(names.includes(id), id);
  });
});

describe('each example of the document', () => {
  it('each example of the document: succeeds on a relayer of its network, with the status of the document', async () => {
    const executed: string[] = [];
    const failures: string[] = [];
    for (const operation of inOrder(document.operations)) {
      for (const [name, body] of examplesOf(operation)) {
        const relayerId = relayers[networkOf(name)];
        const answer = await send(operation, await pathTo(operation, relayerId), await inSandbox(body, name));
        document.check(operation, answer);
        executed.push(pair(operation, name));
        if (answer.status !== successOf(operation)) failures.push(`${pair(operation, name)}: ${answer.status} ${answer.text}`);
      }
    }
    assert.deepEqual(failures, []);
    assert.deepEqual(executed.sort(), [...pairsInDocument()].sort());
  });

  it('each example of the document: is rejected without a key that the document requires, and no other key is simply required', async () => {
    const wrong: string[] = [];
    let requiredKeys = 0;
    // Errors of JSON-RPC are answers.
    for (const operation of document.operations.filter(({ id, hasBody }) => hasBody && id !== 'callRpc')) {
      const place = ['paths', operation.template, operation.verb.toLowerCase(), 'requestBody', 'content', 'application/json', 'schema'];
      for (const [name, body] of examplesOf(operation)) {
        const path = await pathTo(operation, relayers[networkOf(name)]);
        for (const [key, less] of withoutEachKey(await inSandbox(body, name))) {
          const isRequired = document.problems(place, less) !== null;
          const { status, text } = await send(operation, path, less);
          if (isRequired) requiredKeys += 1;
          const isRight = isRequired ? status === 400 : !/"error":"\S+ is required"/.test(text);
          // What the other examples deleted is not found, whatever the body is.
          if (!isRight && status !== 404) wrong.push(`${pair(operation, name)} without ${key}: ${status} ${text}`);
        }
      }
    }
    assert.deepEqual(wrong, []);
    assert.ok(requiredKeys > 0);
  });

  it('each example of the document: has a response that matches what each network returns', async () => {
    for (const relayerId of Object.values(relayers)) {
      for (const operation of document.operations.filter(isReadOfRelayer)) {
        // Its transaction is in no block yet.
        const query = operation.id === 'waitTransaction' ? '?timeout_seconds=1' : '';
        const answer = await send(operation, `${await pathTo(operation, relayerId)}${query}`);
        document.check(operation, answer);
        const isSupported = operation.id !== 'getTransactionByNonce' || relayerId === relayers.evm;
        assert.equal(answer.status, isSupported ? successOf(operation) : 501, `${relayerId} ${operation.id}: ${answer.text}`);
      }
    }
  });

  it('each example of the document: leads to a transaction that is confirmed, and whose record matches the document meanwhile', async () => {
    const makeBlocks: Readonly<Record<string, () => Promise<unknown>>> = {
      evm: () => sandbox.mine(),
      stellar: () => fetch(`${sandbox.rpcUrls.stellar}/manualclose`),
      solana: () => fetch(`${sandbox.rpcUrls.solana}/advance`),
    };
    for (const [network, relayerId] of Object.entries(relayers)) {
      const id = await made('sendTransaction', { relayer_id: relayerId }, network);
      await untilRecord(relayerId, id, ({ status }) => status === 'confirmed', makeBlocks[network]);
      const attempts = document.operation('listAttempts');
      document.check(attempts, await send(attempts, pathOf(attempts, { relayer_id: relayerId, transaction_id: id })));
    }
  });
});

/** The resources that the examples create, and a nonce that a transaction has: what has no example in a path. */
const madeByExamples: Readonly<Record<string, string>> = {
  relayer_id: 'payouts',
  notification_id: 'my-backend',
  plugin_id: 'channels',
  signer_id: 'treasury',
  nonce: '0',
};

function examplesOfPath({ parameters }: Operation): Record<string, string> {
  const shown = parameters.filter((one) => one.in === 'path' && one.example !== undefined);
  return Object.fromEntries(shown.map(({ name, example }) => [name, String(example)]));
}

/** True if the page fills in every part of the call. */
function isPrefilled(operation: Operation): boolean {
  return !operation.isStream && operation.parameters.every((one) => one.in !== 'path' || one.example !== undefined);
}

async function listed(operationId: string): Promise<unknown> {
  const operation = document.operation(operationId);
  return JSON.parse((await send(operation, pathOf(operation, {}))).text).data;
}

/** The examples of a body by name; without a body, the call itself. A stream has none: it does not end. */
function examplesOf({ hasBody, requests, isStream }: Operation): readonly (readonly [string, unknown])[] {
  if (isStream) return [];
  return hasBody ? Object.entries(requests) : [['', undefined]];
}

/** The body without one of its keys, for each key at any depth. */
function* withoutEachKey(body: unknown): Generator<readonly [string, unknown]> {
  if (typeof body !== 'object' || body === null) return;
  for (const [key, value] of Object.entries(body)) {
    if (!Array.isArray(body)) {
      const { [key]: _, ...rest } = body as Record<string, unknown>;
      yield [key, rest];
    }
    for (const [inner, less] of withoutEachKey(value)) {
      yield [`${key}.${inner}`, Array.isArray(body) ? body.with(Number(key), less) : { ...body, [key]: less }];
    }
  }
}

function pair(operation: Operation, name: string): string {
  return `${operation.id} ${name}`;
}

/** All pairs as in the JSON of the document, for every content type and keyword. */
function* pairsInDocument(): Generator<string> {
  const paths = document.json.paths as Record<
    string,
    Record<string, { operationId: string; requestBody?: { content: Record<string, object> } }>
  >;
  for (const { operationId, requestBody } of Object.values(paths).flatMap(Object.values)) {
    if (requestBody === undefined && !document.operation(operationId).isStream) yield `${operationId} `;
    for (const content of Object.values(requestBody?.content ?? {})) {
      const { example, examples = {} } = content as { example?: unknown; examples?: object };
      for (const name of [...Object.keys(examples), ...(example === undefined ? [] : ['example'])]) yield `${operationId} ${name}`;
    }
  }
}

function networkOf(name: string): keyof typeof relayers {
  const [first = ''] = name.split('_');
  return first === 'stellar' || first === 'solana' ? first : 'evm';
}

/** Creation comes first, deletion last, and a signer outlives its relayer. */
function inOrder(operations: readonly Operation[]): readonly Operation[] {
  const rank = ({ id, verb }: Operation): number => {
    if (id === 'createSigner') return 0;
    if (id.startsWith('create')) return 1;
    if (id === 'deleteSigner') return 4;
    return verb === 'DELETE' ? 3 : 2;
  };
  return operations.toSorted((left, right) => rank(left) - rank(right));
}

function isReadOfRelayer({ verb, template, isStream }: Operation): boolean {
  return !isStream && verb === 'GET' && template.includes('{relayer_id}');
}

/**
 * The status of success that the document has: 501 if the operation is not implemented. The sandbox uses SQLite, so its instance cannot be
 * drained, the key that sends cannot approve, and no process serves the plugin.
 */
function successOf({ id, responses, description }: Operation): number {
  if (id === 'drainInstance') return 400;
  if (id === 'approveTransaction') return 403;
  if (id === 'callPlugin') return 502;
  if (description.includes('Not implemented')) return 501;
  return Number(Object.keys(responses).find((status) => status.startsWith('2')));
}

/** The path with the examples of its variables, and newly made resources for the ids that the service makes. */
async function pathTo(operation: Operation, relayerId: string): Promise<string> {
  const values: Record<string, string> = { ...madeByExamples, ...examplesOfPath(operation) };
  if (values.relayer_id === relayers.evm || operation.id === 'signTransaction') values.relayer_id = relayerId;
  const makers: Readonly<Record<string, () => Promise<string>>> = {
    transaction_id: () =>
      isDecision(operation) ? madeToApprove(relayerId) : made('sendTransaction', { relayer_id: relayerId }, networkNameOf(relayerId)),
    delivery_id: () => made('testNotification', values, ''),
    api_key_id: () => made('createApiKey', {}, 'backend'),
    instance_id: async () => '1',
  };
  for (const { name } of operation.parameters) {
    const make = makers[name];
    if (make !== undefined) values[name] = await make();
  }
  if (operation.id === 'getTransactionByNonce' && relayerId === relayers.evm) {
    const id = await made('sendTransaction', { relayer_id: relayerId }, 'evm');
    await untilRecord(relayerId, id, ({ hash }) => hash !== null);
  }
  return pathOf(operation, values);
}

function isDecision({ id }: Operation): boolean {
  return id === 'approveTransaction' || id === 'rejectTransaction';
}

/** The id of a transaction that waits for approval. */
async function madeToApprove(relayerId: string): Promise<string> {
  const setRules = (rules: readonly object[] | null) =>
    send(document.operation('updateRelayer'), `/api/v1/relayers/${relayerId}`, { policies: { rules } });
  await setRules([{ id: 'all', effect: 'approve' }]);
  const id = await made('sendTransaction', { relayer_id: relayerId }, networkNameOf(relayerId));
  await setRules(null);
  return id;
}

/** The id of a resource that an example of this operation makes. */
async function made(operationId: string, values: Readonly<Record<string, string>>, name: string): Promise<string> {
  const operation = document.operation(operationId);
  const answer = await send(operation, pathOf(operation, values), await inSandbox(operation.requests[name], name));
  assert.equal(answer.status, successOf(operation), answer.text);
  return JSON.parse(answer.text).data.id;
}

function networkNameOf(relayerId: string): string {
  return Object.entries(relayers).find(([, id]) => id === relayerId)?.[0] ?? '';
}

/** Waits until the record of a transaction meets the condition; checks each answer. */
async function untilRecord(
  relayerId: string,
  transactionId: string,
  isSo: (record: { readonly hash: string | null; readonly status: string }) => boolean,
  meanwhile?: () => Promise<unknown>,
): Promise<void> {
  const operation = document.operation('getTransaction');
  const path = pathOf(operation, { relayer_id: relayerId, transaction_id: transactionId });
  await waitFor(
    `a transaction of ${relayerId}`,
    async () => {
      await meanwhile?.();
      const answer = await send(operation, path);
      document.check(operation, answer);
      return isSo(JSON.parse(answer.text).data) ? true : undefined;
    },
    120_000,
  );
}

/** The example with the relayer's account in place of the placeholder, in texts and in base64. */
async function inSandbox(body: unknown, name: string): Promise<unknown> {
  const network = networkOf(name);
  if (body === undefined) return body;
  if (network === 'evm') return body;
  const operation = document.operation('getRelayer');
  const { address } = JSON.parse((await send(operation, pathOf(operation, { relayer_id: relayers[network] }))).text).data;
  const text = JSON.stringify(body).replaceAll(placeholders[network], address);
  if (network === 'solana') return JSON.parse(text);
  const [placeholder, own] = [placeholders.stellar, address].map((account) =>
    Buffer.from(StrKey.decodeEd25519PublicKey(account)).toString('hex'),
  );
  return JSON.parse(text, (key, value) =>
    key === 'unsigned_xdr'
      ? Buffer.from(Buffer.from(value, 'base64').toString('hex').replaceAll(String(placeholder), String(own)), 'hex').toString('base64')
      : value,
  );
}

function send(operation: Operation, path: string, body?: unknown): Promise<RestAnswer> {
  return askRest(portOf(sandbox), operation.verb, path, {
    body: body === undefined ? undefined : JSON.stringify(body),
    // What waits for a decision is as it was created.
    headers: { authorization: `Bearer ${sandbox.token}`, ...(isDecision(operation) ? { 'if-match': '"1"' } : {}) },
  });
}

function portOf({ url }: Sandbox): number {
  return Number(new URL(url).port);
}
