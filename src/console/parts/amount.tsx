import { shortAmount, unitsOf } from '../text/amounts.js';

/** An amount in the unit that shows it best; its title is the exact one. */
export function Amount({ value, symbol, decimals }: { readonly value: string; readonly symbol: string; readonly decimals: number }) {
  const { text, title } = shortAmount(BigInt(value), unitsOf(symbol, decimals));
  return (
    <span class="number" title={title}>
      {text}
    </span>
  );
}

/** A price of an EVM network in gwei per gas; its title is the exact one in wei. */
export function GasPrice({ wei }: { readonly wei: string }) {
  return <Amount value={wei} symbol="gwei" decimals={9} />;
}
