/** What a signer's key is sealed for. */
export function signerPurpose(id: string): string {
  return `signer:${id}`;
}
