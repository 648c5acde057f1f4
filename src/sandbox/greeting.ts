import type { SandboxChain } from './sandbox-chain.js';

interface GreetedRelayer {
  readonly chain: SandboxChain;
  readonly address: string;
}

const curl = String.raw`curl -sw '\n' -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json"`;

/** Returns the lines that the sandbox prints when it is ready: its URLs, and commands to copy and paste. */
export function greeting(baseUrl: string, token: string, relayers: readonly GreetedRelayer[]): readonly string[] {
  const [first, ...others] = relayers;
  const firstId = first?.chain.relayerId ?? '';
  return [
    '',
    `ready at ${baseUrl}`,
    ...relayers.map(({ chain, address }) => `relayer "${chain.relayerId}": ${address} on ${chain.commands(address).networkName}`),
    'webhooks appear below when they arrive',
    `console, which opens with the key ${token}: ${baseUrl}/console`,
    `API reference, to read and try every call: ${baseUrl}/docs`,
    '',
    '# run this first, in another terminal',
    `export URL=${baseUrl}/api/v1 TOKEN=${token}`,
    ...(first === undefined ? [] : linesOf(first)),
    '',
    '# sign typed data (the example in EIP-712)',
    `${curl} $URL/relayers/${firstId}/sign-typed-data -d '{"domain_separator":"0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f","hash_struct_message":"0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e"}'`,
    ...others.flatMap(linesOf),
    '',
    '# create a notification and update it',
    `${curl} $URL/notifications -d '{"id":"mine","url":"https://example.com/hook","signing_key":"a-key-of-at-least-32-characters-please"}'`,
    `${curl} -X PATCH $URL/notifications/mine -d '{"url":"https://example.com/other"}'`,
    '',
    '# list transactions over gRPC, with reflection',
    `npx @bufbuild/buf curl --http2-prior-knowledge --protocol grpc --reflect --reflect-header "*" -H "Authorization: Bearer $TOKEN" -d '{"relayerId":"${firstId}"}' ${baseUrl}/relayer.v1.TransactionService/ListTransactions`,
    '',
    'Ctrl-C stops everything.',
  ];
}

/** Returns the commands that send, replace and read a transaction on one chain. */
function linesOf({ chain, address }: GreetedRelayer): readonly string[] {
  const { networkName, send, replace, makeBlock } = chain.commands(address);
  const transactions = `$URL/relayers/${chain.relayerId}/transactions`;
  return [
    '',
    `# send a transaction on ${networkName} and keep its id`,
    `SENT=$(${curl} ${transactions} -d '${send}'); echo "$SENT"; ID=$(echo "$SENT" | grep -o '"id":"[^"]*"' | cut -d '"' -f 4)`,
    '',
    '# replace it before it is mined',
    `${curl} -X PUT ${transactions}/$ID -d '${replace}'`,
    ...(makeBlock === null ? [] : ['', `# ${makeBlock.title}`, makeBlock.command]),
    '',
    '# read the transaction and all its signed attempts',
    `${curl} ${transactions}/$ID; ${curl} ${transactions}/$ID/attempts`,
  ];
}
