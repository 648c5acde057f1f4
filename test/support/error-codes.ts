/** Which codes of JSON-RPC's own and of servers, from the lowest, are about the node and not about the question. */
export function codesAmong(isAboutNode: (code: number, text: string) => boolean): readonly number[] {
  return Array.from({ length: 1_000 }, (_, index) => index - 33_000 + 1).filter((code) => isAboutNode(code, 'the moon is full'));
}
