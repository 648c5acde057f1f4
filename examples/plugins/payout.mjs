// A plugin: sends a payment by a relayer, and returns the transaction. The plugin decides what callers may ask for, and its own API key what it may do.
export async function handler({ api, params, headers }) {
  const { relayer_id, to, value } = params;
  if (typeof relayer_id !== 'string' || typeof to !== 'string') {
    throw Object.assign(new Error('params need relayer_id and to'), {
      status: 400,
      code: 'INVALID_PARAMS',
      details: { got: Object.keys(params) },
    });
  }
  // biome-ignore lint/suspicious/noConsole: the host returns it to the caller.
  console.info(`payout for key ${headers['x-relayer-api-key-id']?.[0]}`);
  const transaction = await api.useRelayer(relayer_id).sendTransaction({ to, value, speed: 'fast' });
  return { id: transaction.id, status: transaction.status };
}
