/** Something that the run leaves out, and why. */
interface LeftOut {
  readonly name: string;
  readonly reason: string;
  /** The only relayer whose network has it. */
  readonly onlyOn?: string;
}

/** Operations that would take the service's own parts, or time, away from the other cases. */
export const operationsLeftOut: readonly LeftOut[] = [
  { name: 'getRelayer', reason: 'its path is that of deleteRelayer, and Schemathesis also calls verbs that a case does not name' },
  { name: 'watchTransactions', reason: 'it answers with a stream that does not end' },
  { name: 'updateRelayer', reason: 'it pauses the relayer, after which every other case gets 403' },
  { name: 'deleteRelayer', reason: 'it deletes the relayer of all other cases' },
  { name: 'getTransactionByNonce', onlyOn: 'sandbox', reason: 'networks without nonces answer 501, which Schemathesis takes for a defect' },
  { name: 'updateNetwork', reason: "it replaces the network's RPC endpoints, after which every other case gets 503" },
];

/** Operations that get valid requests alone. */
export const operationsOnlyValid: readonly LeftOut[] = [
  {
    name: 'callRpc',
    reason:
      'it answers a refused call as nodes do, with a JSON-RPC error in HTTP 200, and a batch, which its schema leaves out for the sake of ' +
      'generated clients, with an array',
  },
];

/** Operations that may answer with a status of the 5xx class. */
export const serverErrorsAllowed: readonly (LeftOut & { readonly statuses: readonly number[] })[] = [
  {
    name: 'createSigner',
    statuses: [503],
    reason: 'it opens the key, and the vaults and clouds that cases invent do not exist',
  },
  {
    name: 'sendTransaction',
    statuses: [501],
    onlyOn: 'sandbox-stellar',
    reason: 'authorization by addresses is not implemented, and the spec lists it',
  },
  {
    name: 'replaceTransaction',
    statuses: [501],
    onlyOn: 'sandbox-stellar',
    reason: 'authorization by addresses is not implemented, and the spec lists it',
  },
];

/** Checks that fail although the service is right. */
export const checksLeftOut: readonly LeftOut[] = [
  {
    name: 'positive_data_acceptance',
    reason:
      'a body that fits its schema can still be refused: for the network of the relayer, the state of a resource, or two fields that exclude one another',
  },
  {
    name: 'ensure_resource_availability',
    reason:
      'a request with the Idempotency-Key of an earlier one gets the stored response of that creation, even if the resource was deleted meanwhile',
  },
];
