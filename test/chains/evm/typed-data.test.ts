import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TypedDataEncoder } from 'ethers';
import fc from 'fast-check';
import { hashTypedData } from '../../../src/chains/evm/typed-data.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { TypedData } from '../../../src/core/ports/chain/requests.js';
import { runs } from '../../support/runs.js';
import { typedStructs } from '../../support/typed-structs.js';

const account = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

/** The example in EIP-712. */
const mail = {
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
  message: {
    from: { name: 'Cow', wallet: '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826' },
    to: { name: 'Bob', wallet: '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB' },
    contents: 'Hello, Bob!',
  },
};

interface Request {
  readonly domain: unknown;
  readonly types: unknown;
  readonly message: unknown;
  readonly primaryType?: string;
}

/** JSON text; a text that begins so is JSON already. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function hashed({ domain, types, message, primaryType }: Request): TypedData {
  return hashTypedData({ domain: textOf(domain), types: textOf(types), message: textOf(message), primaryType });
}

function problemsOf(request: Request): readonly string[] {
  try {
    hashed(request);
  } catch (error) {
    assert.ok(error instanceof DomainError, String(error));
    assert.equal(error.kind, 'invalid');
    return error.fields.map(({ field, description }) => `${field} ${description}`);
  }
  assert.fail('it was accepted');
}

function inMessage(type: string, value: unknown): Request {
  return { domain: {}, types: { T: [{ name: 'x', type }] }, message: { x: value } };
}

describe('typed data', () => {
  it('typed data: the example of EIP-712 has the hashes that EIP-712 names', () => {
    const expected = {
      domainSeparator: '0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f',
      hashStructMessage: '0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e',
    };
    assert.deepEqual(hashed(mail), expected);
    assert.deepEqual(hashed({ ...mail, primaryType: 'Mail' }), expected);
    const EIP712Domain = ['name string', 'version string', 'chainId uint256', 'verifyingContract address'].map((field) => {
      const [name, type] = field.split(' ');
      return { name, type };
    });
    assert.deepEqual(hashed({ ...mail, types: { EIP712Domain, ...mail.types } }), expected);
    assert.deepEqual(hashed({ ...mail, domain: { ...mail.domain, chainId: '0x1', salt: null } }), expected);
  });

  it('typed data: random structs, arrays and values have the hashes of ethers, in every form of an integer', () => {
    fc.assert(
      fc.property(typedStructs, fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), ({ type, structs, json, value }, chainId) => {
        const found = hashed({ domain: `{"chainId":${chainId}}`, types: structs, message: json, primaryType: type });
        assert.equal(found.hashStructMessage, TypedDataEncoder.from({ ...structs }).hashStruct(type, value as Record<string, unknown>));
        assert.equal(found.domainSeparator, TypedDataEncoder.hashDomain({ chainId }));
      }),
      { numRuns: runs(2_000) },
    );
  });

  it('typed data: integers have a multiple of 8 bits, up to 256', () => {
    for (const base of ['int', 'uint'])
      for (let bits = 1; bits <= 300; bits += 1)
        for (const brackets of ['', '[]']) {
          const isType = bits % 8 === 0 && bits <= 256;
          const request = inMessage(`${base}${bits}${brackets}`, brackets === '' ? 1 : [1]);
          if (isType) hashed(request);
          else assert.match(problemsOf(request).join(), /^types\.T\[0\]\.type is u?int/);
        }
  });

  it('typed data: structs that the message does not have change nothing', () => {
    const types = { ...mail.types, Other: [{ name: 'x', type: 'uint8' }], Loop: [{ name: 'again', type: 'Loop[]' }] };
    assert.deepEqual(hashed({ ...mail, types, primaryType: 'Mail' }), hashed(mail));
    assert.match(
      problemsOf({ ...mail, types: { ...mail.types, Other: [{ name: 'x', type: 'uint8' }] } })[0] ?? '',
      /primary_type is required, because types has 2/,
    );
  });

  it('typed data: each mistake is a 400 that names the value by its path', () => {
    const wrong: readonly (readonly [Request, RegExp])[] = [
      [{ ...mail, message: { ...mail.message, to: { name: 'Bob' } } }, /^message\.to\.wallet is required, an address/],
      [{ ...mail, message: { ...mail.message, cc: 'x' } }, /^message\.cc is not a name of a value here/],
      [{ ...mail, message: { ...mail.message, contents: 5 } }, /^message\.contents must be a string; it is 5/],
      [{ ...mail, domain: { ...mail.domain, chain: 1 } }, /^domain\.chain is not a name of a value here/],
      [{ ...mail, domain: { chainId: -1 } }, /^domain\.chainId must be a uint256/],
      [{ ...mail, domain: '' }, /^domain is required/],
      [{ ...mail, types: [] }, /^types must be an object/],
      [{ ...mail, message: '{' }, /^message is not JSON/],
      [{ ...mail, primaryType: 'Letter' }, /^primary_type is Letter, which is not a struct in types/],
      [{ ...mail, types: { Mail: [{ name: 'from', type: 'Person' }] } }, /^types\.Mail\[0\]\.type is Person, which is neither/],
      [
        { domain: {}, types: { A: [{ name: 'b', type: 'B' }], B: [{ name: 'a', type: 'A[]' }] }, message: {}, primaryType: 'A' },
        /^types\.A contains itself/,
      ],
      [
        {
          domain: {},
          types: {
            A: [
              { name: 'x', type: 'bool' },
              { name: 'x', type: 'bool' },
            ],
          },
          message: {},
        },
        /two fields of the same name/,
      ],
      [{ domain: {}, types: { uint8: [] }, message: {} }, /^types\.uint8 has the name of another type/],
      [{ domain: {}, types: { 'A(uint8 x)B': [] }, message: {} }, /^types has the key .* which is not a name/],
      [{ domain: {}, types: '{"__proto__":[]}', message: {} }, /^types has the key __proto__/],
      [{ domain: {}, types: { A: [{ name: 'x y', type: 'bool' }] }, message: {} }, /^types\.A\[0\]\.name must be a name/],
      [{ domain: {}, types: { A: [{ name: 'x', type: 'bool)' }] }, message: {} }, /^types\.A\[0\]\.type must be the name of a type/],
      [
        { ...mail, types: { ...mail.types, EIP712Domain: [{ name: 'chainId', type: 'uint8' }] } },
        /^types\.EIP712Domain\[0\] must be a field of a domain/,
      ],
      [inMessage('uint', 1), /^types\.T\[0\]\.type is uint; give its size, such as uint256/],
      [inMessage('uint8', 256), /^message\.x must be a uint8, an integer from 0 to 255; it is 256/],
      [inMessage('uint256', 1.5), /^message\.x must be a uint256/],
      [inMessage('bytes', '0xabc'), /^message\.x must be a bytes/],
      [inMessage('bytes4', '0xabcdef'), /^message\.x must be a bytes4: 0x and 8 hex digits/],
      [inMessage('address', account.replace('C', 'c')), /^message\.x is an address and has an invalid EIP-55 checksum/],
      [inMessage('address', 'vitalik.eth'), /^message\.x must be an address; ENS names are not resolved/],
      [inMessage('uint8[2]', [1]), /^message\.x must have 2 items; it has 1/],
      [inMessage('uint8[0]', []), /^types has the type uint8\[0\], an array without items/],
      [
        inMessage(
          'uint8[]',
          Array.from({ length: 10_000 }, () => 1),
        ),
        /^message has more than 32768 bytes/,
      ],
    ];
    for (const [request, words] of wrong) assert.match(problemsOf(request)[0] ?? '', words);
  });

  it('typed data: hostile structs are refused before they cost time', () => {
    // 2^20 ways lead through these structs.
    const diamonds = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => {
        const next = Math.floor(at / 2) * 2 + 2;
        const fields =
          next < 40
            ? [
                { name: 'a', type: `D${next}` },
                { name: 'b', type: `D${next + 1}` },
              ]
            : [{ name: 'a', type: 'bool' }];
        return [`D${at}`, fields];
      }),
    );
    const many = Object.fromEntries(Array.from({ length: 1_500 }, (_, at) => [`M${at}`, [{ name: 'x', type: 'bool' }]]));
    for (const [types, words] of [
      [diamonds, /nested more than 16 deep|more than 256 fields/],
      [many, /is not a struct|is not a name of a value|must be an object|is required/],
      [{ D0: Array.from({ length: 1_200 }, (_, at) => ({ name: `f${at}`, type: 'bool' })) }, /more than 256 fields/],
      [{ D0: [{ name: 'a', type: `bool${'[9]'.repeat(15)}` }] }, /more than 4096 words/],
    ] as const) {
      const before = process.cpuUsage();
      assert.match(problemsOf({ domain: {}, types, message: {}, primaryType: 'D0' })[0] ?? '', words);
      const { user } = process.cpuUsage(before);
      // All ways through the structs would take minutes.
      assert.ok(user < 1_000_000, `${user} us`);
    }
  });

  it('typed data: the work grows no faster than the message, up to the largest', () => {
    const types = {
      T: [{ name: 'x', type: 'P[]' }],
      P: [
        { name: 'a', type: 'string' },
        { name: 'b', type: 'address' },
      ],
    };
    function leastWork(length: number, times: number): number {
      const request = { domain: {}, types, message: { x: Array.from({ length }, () => ({ a: 'x', b: account })) } };
      let least = Number.POSITIVE_INFINITY;
      for (let run = 0; run < 5; run += 1) {
        const before = process.cpuUsage();
        for (let count = 0; count < times; count += 1) hashed(request);
        least = Math.min(least, process.cpuUsage(before).user);
      }
      return least;
    }
    // The same number of structs either way: in one message, or in ten.
    const [largest, small] = [leastWork(250, 1), leastWork(25, 10)];
    assert.ok(largest < 3 * small, `${largest} µs in one message, ${small} µs in ten`);
  });
});
