/** Wei of an amount field, whose form the gate has checked (`FieldRules.amount`); undefined when absent. */
export function weiOf(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : BigInt(text);
}
