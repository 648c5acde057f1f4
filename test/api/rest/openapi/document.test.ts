import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { referenceFiles } from '../../../../.ci/generate/openapi/reference-files.js';
import { errorTable } from '../../../../src/api/contract/error-table.js';
import { compileMethodPlans } from '../../../../src/api/contract/method-plan.js';
import { createServices } from '../../../../src/api/services/services.js';
import { textSyntaxes } from '../../../../src/core/text/text-syntax.js';
import { type ApiDocument, readApiDocument } from '../../../support/api-document.js';
import { type AppRig, askRest, startAppRig } from '../../../support/app-rig.js';

let rig: AppRig;
let document: ApiDocument;
before(async () => {
  rig = await startAppRig();
  document = await readApiDocument(rig.port);
});
after(() => rig.stop());

/** The endpoints that the wire contract fixes, with the fixed texts of their errors. */
const specified: Readonly<Record<string, readonly string[]>> = {
  'PUT /api/v1/relayers/{relayer_id}/transactions/{transaction_id}': [
    'Bad Request',
    'Unauthorized',
    'Not found',
    'Too Many Requests',
    'Internal Server Error',
  ],
  'POST /api/v1/relayers/{relayer_id}/sign-typed-data': [
    'Bad Request',
    'Unauthorized',
    'Relayer with ID sandbox not found',
    'Too Many Requests',
    'Internal Server Error',
  ],
  'POST /api/v1/notifications': ['Bad Request', 'Unauthorized', 'Notification with this ID already exists', 'Internal Server Error'],
  'PATCH /api/v1/notifications/{notification_id}': ['Bad Request', 'Unauthorized', 'Notification not found', 'Internal Server Error'],
};

interface RequestWithBody {
  readonly requestBody: { readonly content: Record<string, { readonly schema: Record<string, unknown> }> };
}

describe('the OpenAPI document', () => {
  it('the OpenAPI document: passes a standard validator', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(document.json) as Record<string, unknown>);
    assert.ok(valid, JSON.stringify(errors));
    assert.equal(validator.version, '3.1');
  });

  it('the OpenAPI document: has exactly the routes of REST, and the pages', () => {
    const routes = plans().flatMap(({ http }) => (http === null ? [] : [`${http.verb} ${http.template}`]));
    const pages = ['GET /api/v1/health', 'GET /api/v1/ready', 'GET /metrics'];
    assert.deepEqual(document.operations.map(({ verb, template }) => `${verb} ${template}`).sort(), [...routes, ...pages].sort());
  });

  it('the OpenAPI document: has a parameter for each path variable, and unique operation ids', () => {
    for (const { id, template, parameters } of document.operations) {
      const variables = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      assert.deepEqual(
        parameters
          .filter((one) => one.in === 'path')
          .map(({ name }) => name)
          .sort(),
        variables.sort(),
        id,
      );
    }
    const ids = document.operations.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
  });

  it('the OpenAPI document: has every endpoint of the wire contract, with the fixed texts of its errors', () => {
    for (const [route, texts] of Object.entries(specified)) {
      const operation = document.operations.find(({ verb, template }) => `${verb} ${template}` === route);
      assert.ok(operation, route);
      const shown = JSON.stringify(
        Object.values(operation.responses).map((response) => ('$ref' in response ? resolved(String(response.$ref)) : response)),
      );
      for (const text of texts) assert.ok(shown.includes(`"message":"${text}"`), `${route}: ${text}`);
      assert.equal('429' in operation.responses, texts.includes('Too Many Requests'), route);
    }
  });

  it('the OpenAPI document: lists for each 400 only the reasons that can occur', () => {
    const reasonsOf = (id: string) => {
      const { headers } = document.operation(id).responses[400] as { headers: Record<string, { schema: { enum: string[] } }> };
      return headers['X-Error-Reason']?.schema.enum ?? [];
    };
    const operationsWith = (reason: string) =>
      document.operations.filter((one) => '400' in one.responses && reasonsOf(one.id).includes(reason));
    const idsWith = (reason: string) => operationsWith(reason).map(({ id }) => id);
    assert.deepEqual(reasonsOf('getTransaction'), ['HOST_INVALID', 'FIELD_UNKNOWN', 'FIELD_INVALID']);
    assert.deepEqual(idsWith('REPLACEMENT_UNDERPRICED'), ['replaceTransaction', 'cancelTransaction']);
    const deciding = ['approveTransaction', 'rejectTransaction'];
    assert.deepEqual(idsWith('TRANSACTION_MINED'), ['replaceTransaction', 'cancelTransaction', ...deciding]);
    assert.deepEqual(idsWith('APPROVAL_NOT_NEEDED'), deciding);
    assert.deepEqual(idsWith('NOT_SUPPORTED_ON_NETWORK'), [
      'checkPolicies',
      'signTypedData',
      'signData',
      'signTransaction',
      'readContract',
    ]);
    assert.deepEqual(idsWith('WEBHOOK_TARGET_REFUSED'), ['createNotification', 'updateNotification']);
    for (const reason of ['NOTIFICATION_IN_USE', 'RELAYER_IN_USE', 'IN_USE', 'CANCEL_NOT_POSSIBLE'])
      assert.equal(idsWith(reason).length, 1, reason);
    assert.ok(operationsWith('BODY_MALFORMED').every(({ hasBody }) => hasBody));
  });

  it('the proto options: list SIGNER_UNAVAILABLE for each method that needs a signature before it answers', () => {
    const labels = plans().flatMap(({ label, reasons }) => (reasons.includes('SIGNER_UNAVAILABLE') ? [label] : []));
    assert.deepEqual(labels.toSorted(), [
      'SignerService.CreateSigner',
      'SignerService.TestSigner',
      'SigningService.SignData',
      'SigningService.SignTransaction',
      'SigningService.SignTypedData',
      'TransactionService.CancelTransaction',
      'TransactionService.ReplaceTransaction',
    ]);
  });

  it('the OpenAPI document: lists every error of the contract in the introduction', () => {
    const shown = JSON.stringify(document.json);
    // The deadline of a call and the version of HTTP concern RPC only.
    const rows = Object.values(errorTable).filter(({ httpStatus }) => httpStatus < 504);
    for (const { httpStatus, text } of rows) assert.ok(shown.includes(`| ${httpStatus} | \`${text}\` |`), text);
  });

  it('the OpenAPI document: describes every field, and has an example for every body', () => {
    for (const { id, hasBody, requests } of document.operations) if (hasBody) assert.ok(Object.keys(requests).length > 0, id);
    const undescribed: string[] = [];
    const look = (value: unknown, place: string): void => {
      if (typeof value !== 'object' || value === null) return;
      const { properties } = value as { properties?: Record<string, { description?: string }> };
      for (const [name, property] of Object.entries(properties ?? {})) {
        if (property.description === undefined && !['success', 'data', 'error', 'pagination', 'metadata', 'message'].includes(name))
          undescribed.push(`${place}.${name}`);
      }
      for (const [key, inner] of Object.entries(value)) look(inner, `${place}/${key}`);
    };
    look((document.json.components as Record<string, unknown>).schemas, '');
    assert.deepEqual(undescribed, []);
  });

  it('the OpenAPI document: has examples that match its schemas', () => {
    for (const { id, template, verb, requests, responses } of document.operations) {
      const place = ['paths', template, verb.toLowerCase()];
      for (const [name, body] of Object.entries(requests)) {
        assert.equal(document.problems([...place, 'requestBody', 'content', 'application/json', 'schema'], body), null, `${id} ${name}`);
      }
      for (const [status, response] of Object.entries(responses)) {
        const { $ref, content } = ('$ref' in response ? resolved(String(response.$ref)) : response) as {
          $ref?: string;
          content?: Record<string, { example?: unknown; examples?: Record<string, { value: unknown }> }>;
        };
        assert.equal($ref, undefined);
        const where = '$ref' in response ? String(response.$ref).slice(2).split('/') : [...place, 'responses', status];
        const { example, examples = {} } = content?.['application/json'] ?? {};
        for (const value of [...(example === undefined ? [] : [example]), ...Object.values(examples).map((one) => one.value)]) {
          assert.equal(document.problems([...where, 'content', 'application/json', 'schema'], value), null, `${id} ${status}`);
        }
      }
    }
  });

  it('the OpenAPI document: accepts and rejects the bodies that the codec accepts and rejects', () => {
    const to = `0x${'12'.repeat(20)}`;
    const account = `G${'A'.repeat(55)}`;
    const contract = `C${'A'.repeat(55)}`;
    const send = (body: unknown) => document.problems(['components', 'schemas', 'SendTransactionRequest'], body);
    for (const body of [
      { to, value: 0 },
      { to, value: '0x1F', speed: 'safeLow', gas_limit: null },
      { value: '340282366920938463463374607431768211455' },
      {
        network: 'testnet',
        operations: [
          { type: 'payment', destination: account, amount: 1, asset: { type: 'credit_alphanum4', code: 'USD', issuer: account } },
        ],
      },
      { network: 'testnet', memo: { type: 'none', value: null }, transaction_xdr: 'AAAA' },
      { network: 'testnet', memo: { type: 'hash', value: `0x${'00'.repeat(32)}` } },
      {
        network: 'testnet',
        operations: [
          {
            type: 'invoke_contract',
            contract_address: contract,
            function_name: 'f',
            args: ['void', { u128: '1' }, { vec: [{ i64: -1 }] }],
          },
        ],
      },
      { transaction: 'AAAA', valid_until: '2099-01-01T00:00:00Z' },
    ]) {
      assert.equal(send(body), null, JSON.stringify(body));
    }
    for (const body of [
      { to },
      { to: '0x12', value: 1 },
      { data: 'abc', value: 1 },
      { network: 'testnet', memo: { type: 'hash', value: '0x00ff' } },
      { network: 'testnet', operations: [{ type: 'payment', destination: 'G', amount: 1, asset: { type: 'native' } }] },
      { network: 'testnet', transaction_xdr: 'AAAA', valid_until: 'tomorrow' },
      { value: -1 },
      { value: 1.5 },
      { value: '1e21' },
      { value: null },
      { network: 'testnet', memo: { type: 'none', value: 'text' } },
      { value: 1, speed: 'safe_low' },
      { value: 1, fee_bump: true },
      { network: 'testnet', memo: { type: 'text' } },
      { network: 'testnet', memo: { type: 'other', value: 1 } },
      { network: 'testnet', operations: [{ type: 'payment', destination: account, amount: 0, asset: { type: 'native' } }] },
      {
        network: 'testnet',
        operations: [{ type: 'invoke_contract', contract_address: contract, function_name: 'f', args: [{ u32: 1, i32: 2 }] }],
      },
    ]) {
      assert.notEqual(send(body), null, JSON.stringify(body));
    }
  });

  it('the OpenAPI document: has the pattern of every text of a body or a query, as the codec enforces it, unless any text is accepted', () => {
    const free = new Set<string>();
    const patterns = new Set<string>();
    const seen = new Set<string>();
    const look = (schema: Record<string, unknown>, place: string): void => {
      if (typeof schema.$ref === 'string') {
        const name = schema.$ref.split('/').at(-1) ?? '';
        if (!seen.has(name)) look(resolved(schema.$ref) as Record<string, unknown>, seen.add(name) && name);
        return;
      }
      if (typeof schema.pattern === 'string') patterns.add(schema.pattern);
      else if ([schema.type].flat().includes('string') && !schema.enum && !schema.format && !schema.contentEncoding) free.add(place);
      for (const one of [schema.oneOf, schema.anyOf].flat()) if (one !== undefined) look(one as Record<string, unknown>, place);
      for (const [key, one] of Object.entries(schema.properties ?? {})) look(one, `${place}.${key}`);
      if (schema.items !== undefined) look(schema.items as Record<string, unknown>, place);
    };
    for (const { id, template, verb, hasBody, parameters } of document.operations) {
      for (const { schema } of parameters) if (typeof schema?.pattern === 'string') patterns.add(schema.pattern);
      if (!hasBody) continue;
      const operation = (document.json.paths as Record<string, Record<string, RequestWithBody>>)[template]?.[verb.toLowerCase()];
      look(operation?.requestBody.content['application/json']?.schema ?? assert.fail(id), id);
    }
    for (const [name, { pattern, shownPattern = pattern }] of textSyntaxes) assert.ok(patterns.has(shownPattern.source), name);
    // Names of configured things, keys that only have a length, free text, and what is ignored or not implemented.
    const fields = new Set([...free].map((place) => place.split('.').at(-1)));
    assert.deepEqual(
      [...fields].sort(),
      ['function', 'message', 'method', 'network', 'notification_id', 'passphrase', 'signer_id', 'signers', 'signing_key', 'string']
        .concat(['signed_auth_entry', 'transaction_id', 'type', 'value'])
        .concat(['argument', 'deadline_field', 'equals', 'functions', 'in', 'name', 'typed_data'])
        .concat(['key_label', 'module_path', 'pin', 'role_id', 'secret_id', 'token_label'])
        .concat(['auth_provider_x509_cert_url', 'auth_uri', 'client_email', 'client_id', 'client_x509_cert_url'])
        .concat(['organization_id', 'private_key', 'private_key_id'])
        .concat(['client_secret', 'federated_token_file', 'api_key_secret', 'version', 'wallet_secret'])
        .sort(),
    );
  });

  it('the OpenAPI document and the reference page: are served as they are generated from the definitions', async () => {
    for (const [name, content] of Object.entries(referenceFiles())) {
      const path = { 'openapi.json': '/openapi.json', 'docs.html': '/docs' }[name] ?? `/docs/${name}`;
      const { status, text } = await askRest(rig.port, 'GET', path, { headers: { authorization: undefined } });
      assert.equal(status, 200, path);
      assert.ok(text === content, `${path} is stale: run "npm run generate"`);
    }
  });

  it('the OpenAPI document: writes large integers exactly', async () => {
    const { text } = await askRest(rig.port, 'GET', '/openapi.json');
    assert.ok(text.includes('"maximum":340282366920938463463374607431768211455'));
    assert.ok(text.includes('"maximum":9223372036854775807'));
  });

  it('the OpenAPI document: contains nothing of the server that serves it', async () => {
    const { text } = await askRest(rig.port, 'GET', '/openapi.json');
    for (const own of [...Object.values(rig.home.env), rig.home.address, rig.home.privateKey, String(rig.port), 'Relayer One']) {
      if (own.length > 4 && own !== 'false') assert.ok(!text.includes(own), own);
    }
  });

  it('the OpenAPI document: needs no key, answers 304 to a known ETag, and is compressed if the client accepts that', async () => {
    const first = await askRest(rig.port, 'GET', '/openapi.json', { headers: { authorization: undefined } });
    assert.equal(first.headers['content-type'], 'application/json');
    const etag = String(first.headers.etag);
    const again = await askRest(rig.port, 'GET', '/openapi.json', { headers: { 'if-none-match': `"other", ${etag}` } });
    assert.equal(again.status, 304);
    assert.equal(again.text, '');
    const fetched = await fetch(`${rig.baseUrl}/openapi.json`);
    assert.equal(fetched.headers.get('content-encoding'), 'gzip');
    assert.equal(await fetched.text(), first.text);
    const refused = await askRest(rig.port, 'GET', '/openapi.json', { headers: { 'accept-encoding': 'br, gzip;q=0' } });
    assert.equal(refused.text, first.text);
    const head = await askRest(rig.port, 'HEAD', '/openapi.json');
    assert.equal(head.headers['content-length'], String(Buffer.byteLength(first.text)));
  });
});

function plans() {
  const served = createServices({ store: { read: {} } } as never);
  return compileMethodPlans(served.map(({ service }) => service));
}

function resolved(reference: string): Record<string, unknown> {
  return reference
    .slice(2)
    .split('/')
    .reduce<Record<string, unknown>>((value, key) => value[key] as Record<string, unknown>, document.json as Record<string, unknown>);
}
