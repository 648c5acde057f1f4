import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { hexlify, Signature, type TypedDataDomain, TypedDataEncoder, type TypedDataField, verifyMessage, verifyTypedData } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type RpcCaller, rest, rpcCallers } from '../support/callers.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';

interface TypedData {
  readonly domain: TypedDataDomain;
  readonly types: Record<string, TypedDataField[]>;
  readonly value: Record<string, unknown>;
}

/** The example of EIP-712 itself. */
const mail: TypedData = {
  domain: { name: 'Ether Mail', version: '1', chainId: 1, verifyingContract: '0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC' },
  types: {
    Person: [
      { name: 'name', type: 'string' },
      { name: 'wallet', type: 'address' },
    ],
    Mail: [
      { name: 'from', type: 'Person' },
      { name: 'to', type: 'Person' },
      { name: 'contents', type: 'string' },
    ],
  },
  value: {
    from: { name: 'Cow', wallet: '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826' },
    to: { name: 'Bob', wallet: '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB' },
    contents: 'Hello, Bob!',
  },
};

function randomTypedData(): TypedData {
  return {
    domain: {
      name: randomBytes(6).toString('hex'),
      version: String(randomBytes(1)[0]),
      chainId: randomBytes(4).readUInt32BE(),
      salt: hexlify(randomBytes(32)),
    },
    types: {
      Order: [
        { name: 'maker', type: 'address' },
        { name: 'amount', type: 'uint256' },
        { name: 'note', type: 'string' },
        { name: 'proof', type: 'bytes32[]' },
      ],
    },
    value: {
      maker: hexlify(randomBytes(20)),
      amount: BigInt(hexlify(randomBytes(32))),
      note: randomBytes(9).toString('base64'),
      proof: [hexlify(randomBytes(32)), hexlify(randomBytes(32))],
    },
  };
}

describe('signing', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let callers: readonly RpcCaller[];

  before(async () => {
    anvil = await startAnvil({ noMining: true });
    home = await createServiceHome({ rpcUrl: anvil.url });
    service = await startService(home);
    callers = rpcCallers(service.baseUrl);
  });

  after(async () => {
    for (const caller of callers ?? []) caller.close();
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  it('sign typed data: ethers recovers the relayer for the EIP-712 example and 50 random cases, over every protocol', async () => {
    for (const typedData of [mail, ...Array.from({ length: 50 }, randomTypedData)]) {
      const request = {
        domain_separator: TypedDataEncoder.hashDomain(typedData.domain),
        hash_struct_message: TypedDataEncoder.from(typedData.types).hash(typedData.value),
      };
      const overRest = await rest(service.baseUrl, 'POST', '/relayers/r1/sign-typed-data', request);
      assert.equal(overRest.status, 200, overRest.text);
      const { data } = overRest.body;
      assert.deepEqual(Object.keys(data).sort(), ['r', 's', 'sig', 'v']);
      assert.match(data.sig, /^[0-9a-f]{130}$/);
      assert.equal(data.sig, data.r + data.s + data.v.toString(16));
      assert.equal(verifyTypedData(typedData.domain, typedData.types, typedData.value, `0x${data.sig}`), home.address);
      assert.equal(Signature.from(`0x${data.sig}`).v, data.v);
      for (const caller of callers) {
        const outcome = await caller.call('SigningService', 'SignTypedData', { relayer_id: 'r1', ...request });
        assert.ok(outcome.ok, `${caller.protocol}: ${JSON.stringify(outcome)}`);
        const { r, s, sig, v } = outcome.response.signature as Record<string, unknown>;
        // RFC 6979: the same digest has the same signature.
        assert.deepEqual({ r, s, sig, v }, { r: data.r, s: data.s, sig: data.sig, v: data.v }, caller.protocol);
      }
    }
  });

  it('sign typed data: hashes the typed data itself as ethers does, over every protocol, and returns the hashes', async () => {
    const path = '/relayers/r1/sign-typed-data';
    const hexAmounts = (_key: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);
    for (const { domain, types, value } of [mail, ...Array.from({ length: 10 }, randomTypedData)]) {
      const request = JSON.parse(JSON.stringify({ domain, types, message: value }, hexAmounts));
      const { status, text, body } = await rest(service.baseUrl, 'POST', path, request);
      assert.equal(status, 200, text);
      assert.deepEqual(Object.keys(body.data).sort(), ['r', 's', 'sig', 'v']);
      assert.equal(verifyTypedData(domain, types, value, `0x${body.data.sig}`), home.address);
      const hashes = {
        domain_separator: TypedDataEncoder.hashDomain(domain),
        hash_struct_message: TypedDataEncoder.from(types).hash(value),
      };
      const message = `domain_separator is ${hashes.domain_separator}, hash_struct_message is ${hashes.hash_struct_message}`;
      assert.deepEqual(body.metadata.logs, [{ level: 'debug', message }]);
      const texts = Object.fromEntries(Object.entries(request).map(([key, part]) => [key, JSON.stringify(part)]));
      for (const caller of callers) {
        const outcome = await caller.call('SigningService', 'SignTypedData', { relayer_id: 'r1', ...texts });
        assert.ok(outcome.ok, `${caller.protocol}: ${JSON.stringify(outcome)}`);
        assert.equal((outcome.response.signature as { sig: string }).sig, body.data.sig, caller.protocol);
        assert.equal(outcome.response.hash_struct_message, hashes.hash_struct_message);
        assert.equal(outcome.response.domain_separator, hashes.domain_separator);
      }
    }
  });

  it('sign typed data: takes one form or the other, and the name of the primary type in either spelling', async () => {
    const path = '/relayers/r1/sign-typed-data';
    const typed = { domain: mail.domain, types: mail.types, message: mail.value };
    const hash = 'ab'.repeat(32);
    const both = '"error":"domain_separator and hash_struct_message cannot be combined with domain, types, primary_type and message"';
    for (const [body, status, words] of [
      [{ ...typed, primary_type: 'Mail' }, 200, '"success":true'],
      [{ ...typed, primaryType: 'Mail' }, 200, '"success":true'],
      [{ ...typed, primaryType: 'Mail', primary_type: 'Mail' }, 400, 'primaryType cannot be combined with primary_type'],
      [{ ...typed, primaryType: 'Person' }, 400, 'message.from is not a name of a value here: string name, address wallet'],
      [{ ...typed, domain_separator: hash, hash_struct_message: hash }, 400, both],
      [{ domain: {}, hash_struct_message: hash }, 400, both],
      [{ domain: {} }, 400, 'types is required'],
      [{}, 400, '"error":"domain_separator is required; hash_struct_message is required"'],
      [{ domain_separator: hash }, 400, '"error":"hash_struct_message is required"'],
    ] as const) {
      const answer = await rest(service.baseUrl, 'POST', path, body);
      assert.equal(answer.status, status, answer.text);
      assert.ok(answer.text.includes(words), answer.text);
    }
  });

  it('sign message: signs raw bytes as well, in one form or the other', async () => {
    for (const hex of ['', '0x', 'deadbeef', '0xDEADBEEF', `0x${'00'.repeat(33)}`]) {
      const bytes = Buffer.from(hex.replace('0x', ''), 'hex');
      const { status, text, body } = await rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message_hex: hex });
      assert.equal(status, 200, text);
      assert.equal(verifyMessage(bytes, `0x${body.data.sig}`), home.address);
      for (const caller of callers) {
        const outcome = await caller.call('SigningService', 'SignData', { relayer_id: 'r1', message_hex: hex });
        assert.ok(outcome.ok && (outcome.response.signature as { sig: string }).sig === body.data.sig, caller.protocol);
      }
    }
    for (const [body, words] of [
      [{ message_hex: '0xabc' }, 'message_hex must be an even number of hex digits'],
      [{ message: 'x', message_hex: '0xab' }, 'message_hex cannot be combined with message'],
      [{}, 'message is required without message_hex'],
    ] as const) {
      const answer = await rest(service.baseUrl, 'POST', '/relayers/r1/sign', body);
      assert.equal(answer.status, 400);
      assert.equal(answer.body.error, words);
    }
  });

  it('sign message: ethers recovers the relayer, also for an empty and for non-ASCII messages', async () => {
    for (const message of ['', 'hello', 'Grüße, 世界 🚀', '0x1234', 'x'.repeat(5000)]) {
      const { status, body } = await rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message });
      assert.equal(status, 200);
      assert.equal(verifyMessage(message, `0x${body.data.sig}`), home.address);
    }
  });

  it('sign typed data: accepts 32 bytes of hex with or without 0x, refuses anything else and names the field', async () => {
    const good = 'ab'.repeat(32);
    const taken = await rest(service.baseUrl, 'POST', '/relayers/r1/sign-typed-data', {
      domain_separator: good,
      hash_struct_message: `0x${good.toUpperCase()}`,
    });
    assert.equal(taken.status, 200);
    for (const bad of ['', '0x', '0X'.concat(good), good.slice(1), `${good}00`, 'zz'.repeat(32)]) {
      const refused = await rest(service.baseUrl, 'POST', '/relayers/r1/sign-typed-data', {
        domain_separator: good,
        hash_struct_message: bad,
      });
      assert.equal(refused.status, 400, bad);
      const problem = bad === '' ? 'is required' : 'must be 32 bytes: 64 hex digits, with or without 0x';
      assert.equal(refused.body.error, `hash_struct_message ${problem}`);
      assert.equal(refused.body.message, 'Bad Request');
    }
  });

  it('sign: an unknown relayer has the error text of the specification', async () => {
    const body = { domain_separator: 'ab'.repeat(32), hash_struct_message: 'ab'.repeat(32) };
    const refused = await rest(service.baseUrl, 'POST', '/relayers/nobody/sign-typed-data', body);
    assert.equal(refused.status, 404);
    assert.equal(refused.body.message, 'Relayer with ID nobody not found');
    for (const caller of callers) {
      const outcome = await caller.call('SigningService', 'SignTypedData', { relayer_id: 'nobody', ...body });
      assert.deepEqual(outcome, { ok: false, code: 'NOT_FOUND', message: 'Relayer with ID nobody not found' }, caller.protocol);
    }
  });
});
