/*
 * The spending rules of a measured relayer: 19 that must be read and are not for the sends of the benchmarks, and a last one that allows
 * them, with a limit of all and a limit for each API key that are never reached.
 */

const address = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;
const transfer = 'transfer(address to, uint256 amount)';
const neverReached = '1000000000000000000000000';

/** Policies with 20 rules and two limits. */
export const policiesWithRules: object = {
  rules: [
    ...Array.from({ length: 19 }, (_, index) => ({
      id: `rule-${index}`,
      effect: index % 4 === 0 ? 'deny' : 'allow',
      to: [address(1_000 + index), address(2_000 + index)],
      ...(index % 4 === 0
        ? {}
        : { functions: [transfer], arguments: [{ function: transfer, name: 'amount', max: '1000000' }], max_value: 0 }),
    })),
    {
      id: 'payments',
      effect: 'allow',
      limits: [
        { asset: 'native', amount: neverReached, window_seconds: 86_400, per: 'relayer' },
        { asset: 'native', amount: neverReached, window_seconds: 3_600, per: 'api_key' },
      ],
    },
  ],
};
