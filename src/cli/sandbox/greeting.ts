import { sandboxRelayerId } from './sandbox-config.js';

/** What the greeting tells of. */
export interface Greeted {
  readonly baseUrl: string;
  readonly token: string;
  readonly relayerAddress: string;
  readonly rpcUrl: string;
  /** False: blocks come only when the chain is told to mine. */
  readonly minesItself: boolean;
}

/** The lines that a user reads when the sandbox is ready: where it is, and commands to copy and paste. */
export function greeting({ baseUrl, token, relayerAddress, rpcUrl, minesItself }: Greeted): readonly string[] {
  const relayer = `$URL/relayers/${sandboxRelayerId}`;
  const curl = 'curl -s -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json"';
  return [
    '',
    `ready at ${baseUrl}`,
    `relayer "${sandboxRelayerId}" is ${relayerAddress}; its webhooks are printed below as they arrive`,
    `the API, to read and to try: ${baseUrl}/docs`,
    '',
    '# in another terminal, first:',
    `URL=${baseUrl}/api/v1 TOKEN=${token}`,
    '',
    '# send a transaction, and keep its id',
    `SENT=$(${curl} ${relayer}/transactions -d '{"to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","value":1000000000000000001,"speed":"fast"}'); echo "$SENT"; ID=$(echo "$SENT" | grep -o '"id":"[^"]*"' | cut -d '"' -f 4)`,
    '',
    '# replace it while it waits',
    `${curl} -X PUT ${relayer}/transactions/$ID -d '{"to":"0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC","value":2,"speed":"fastest"}'`,
    ...(minesItself
      ? []
      : [
          '',
          '# mine a block',
          `curl -s -H "Content-Type: application/json" ${rpcUrl} -d '{"jsonrpc":"2.0","id":1,"method":"anvil_mine","params":[]}'`,
        ]),
    '',
    '# what became of it, and every version that was signed',
    `${curl} ${relayer}/transactions/$ID; ${curl} ${relayer}/transactions/$ID/attempts`,
    '',
    '# sign typed data (the example of EIP-712)',
    `${curl} ${relayer}/sign-typed-data -d '{"domain_separator":"0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f","hash_struct_message":"0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e"}'`,
    '',
    '# create a notification, and change it',
    `${curl} $URL/notifications -d '{"id":"mine","url":"https://example.com/hook","signing_key":"a-key-of-at-least-32-characters-please"}'`,
    `${curl} -X PATCH $URL/notifications/mine -d '{"url":"https://example.com/other"}'`,
    '',
    '# the same by gRPC, with reflection',
    `npx buf curl --http2-prior-knowledge --protocol grpc --reflect --reflect-header "*" -H "Authorization: Bearer $TOKEN" -d '{"relayerId":"${sandboxRelayerId}"}' ${baseUrl}/relayer.v1.TransactionService/ListTransactions`,
    '',
    'Ctrl-C stops everything.',
  ];
}
