/** The steps of each client, which prints `done <step>`. */
const steps = ['send', 'get', 'list', 'sign', 'notifications', 'error', 'records', 'memos'];

/** The numbers that a client must read exactly. */
export interface ExactNumbers {
  readonly balance: bigint;
  readonly gasPriceCap: bigint;
}

/** JavaScript reads a JSON number as a floating-point number: there, only texts are exact. */
const inexact: readonly string[] = ['openapi-generator-typescript', 'openapi-typescript'];

/** Returns what is wrong with the output of a client. */
export function problemsOf(client: string, output: string, { balance, gasPriceCap }: ExactNumbers): readonly string[] {
  const lines = output.split('\n').map((line) => line.trim());
  const numbers = inexact.includes(client)
    ? [`status_balance ${balance}`]
    : [`balance ${balance}`, `gas_price_cap ${gasPriceCap}`, 'fee 9007199254740993'];
  return [...steps.map((step) => `done ${step}`), ...numbers]
    .filter((line) => !lines.includes(line))
    .map((line) => `the client did not print "${line}":\n${output}`);
}
