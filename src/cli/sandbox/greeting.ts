import type { SandboxChain } from './sandbox-chain.js';

/** What the greeting tells of. */
export interface Greeted {
  readonly baseUrl: string;
  readonly token: string;
  /** The relayers, each with the address of its account; the first is on EVM. */
  readonly relayers: readonly { readonly chain: SandboxChain; readonly address: string }[];
}

const curl = 'curl -s -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json"';

/** The lines that a user reads when the sandbox is ready: where it is, and commands to copy and paste. */
export function greeting({ baseUrl, token, relayers }: Greeted): readonly string[] {
  const [first, ...others] = relayers.map(({ chain }) => chain);
  const firstId = first?.relayerId ?? '';
  return [
    '',
    `ready at ${baseUrl}`,
    ...relayers.map(({ chain, address }) => `relayer "${chain.relayerId}" is ${address} on ${chain.commands.networkName}`),
    'webhooks are printed below as they arrive',
    `the API, to read and to try: ${baseUrl}/docs`,
    '',
    '# in another terminal, first:',
    `URL=${baseUrl}/api/v1 TOKEN=${token}`,
    ...(first === undefined ? [] : linesOf(first)),
    '',
    '# sign typed data (the example of EIP-712)',
    `${curl} $URL/relayers/${firstId}/sign-typed-data -d '{"domain_separator":"0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f","hash_struct_message":"0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e"}'`,
    ...others.flatMap(linesOf),
    '',
    '# create a notification, and change it',
    `${curl} $URL/notifications -d '{"id":"mine","url":"https://example.com/hook","signing_key":"a-key-of-at-least-32-characters-please"}'`,
    `${curl} -X PATCH $URL/notifications/mine -d '{"url":"https://example.com/other"}'`,
    '',
    '# the same by gRPC, with reflection',
    `npx buf curl --http2-prior-knowledge --protocol grpc --reflect --reflect-header "*" -H "Authorization: Bearer $TOKEN" -d '{"relayerId":"${firstId}"}' ${baseUrl}/relayer.v1.TransactionService/ListTransactions`,
    '',
    'Ctrl-C stops everything.',
  ];
}

/** Send, replace and look, on one chain. */
function linesOf({ relayerId, commands }: SandboxChain): readonly string[] {
  const { networkName, send, replace, makeBlock } = commands;
  const transactions = `$URL/relayers/${relayerId}/transactions`;
  return [
    '',
    `# send a transaction on ${networkName}, and keep its id`,
    `SENT=$(${curl} ${transactions} -d '${send}'); echo "$SENT"; ID=$(echo "$SENT" | grep -o '"id":"[^"]*"' | cut -d '"' -f 4)`,
    '',
    '# replace it while it waits',
    `${curl} -X PUT ${transactions}/$ID -d '${replace}'`,
    ...(makeBlock === null ? [] : ['', `# ${makeBlock.does}`, makeBlock.command]),
    '',
    '# what became of it, and every version that was signed',
    `${curl} ${transactions}/$ID; ${curl} ${transactions}/$ID/attempts`,
  ];
}
