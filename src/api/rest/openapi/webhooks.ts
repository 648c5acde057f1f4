import { refTo, type Schema } from './schema.js';

/** The headers of a delivery. */
const signatureHeaders: Readonly<Record<string, string>> = {
  'webhook-id': "The event's id, the same in every delivery attempt.",
  'webhook-timestamp': 'The time of this delivery attempt in Unix seconds.',
  'webhook-signature':
    '`v1,` and the base64 of HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`. While a key is being replaced, there is one signature per key, separated by spaces. Present only if the notification has a signing key.',
  'X-Signature':
    'The base64 of HMAC-SHA256 over the body alone; the HMAC key is the text of the current signing key. Present only if the notification has a signing key.',
};

/** The events that the service posts to notifications, by type. */
export const webhooks: Readonly<Record<string, Schema>> = {
  transaction_update: webhook(
    'transaction_update',
    'A transaction was accepted or replaced, or its status changed',
    { payload_type: { type: 'string', const: 'transaction' } },
    [refTo('schemas', 'Transaction')],
  ),
  relayer_state_update: webhook(
    'relayer_state_update',
    'The service disabled or enabled a relayer, or its balance is low',
    {
      payload_type: { type: 'string', enum: ['relayer_disabled', 'relayer_enabled', 'relayer_low_balance'] },
      relayer: refTo('schemas', 'Relayer'),
    },
    [
      {
        type: 'object',
        properties: { disable_reason: { type: 'string', description: 'Why the service disabled the relayer. Absent if it is enabled.' } },
      },
    ],
  ),
  test: webhook('test', 'A caller tested a notification', {
    payload_type: { type: 'string', const: 'test' },
    notification_id: { type: 'string', description: 'The tested notification.' },
  }),
};

function webhook(event: string, summary: string, payload: Readonly<Record<string, Schema>>, more: readonly Schema[] = []): Schema {
  const own: Schema = { type: 'object', properties: payload, required: Object.keys(payload) };
  return {
    post: {
      operationId: event,
      tags: ['Notification'],
      summary,
      description:
        'Return 2xx quickly, then process the event. Delivery is at least once, in order for each transaction: ignore an `id` that you have already processed.',
      parameters: Object.entries(signatureHeaders).map(([name, description]) => ({
        name,
        in: 'header',
        required: name === 'webhook-id' || name === 'webhook-timestamp',
        description,
        schema: { type: 'string' },
      })),
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: {
              type: 'object',
              properties: {
                id: { type: 'string', description: "The event's id." },
                event: { type: 'string', const: event, description: 'The type of the event. Later versions may add types.' },
                payload: { ...(more.length === 0 ? own : { allOf: [...more, own] }), description: 'The content of the event.' },
                timestamp: {
                  type: 'string',
                  format: 'date-time',
                  description: 'When the event happened, the same in every delivery attempt.',
                },
              },
              required: ['id', 'event', 'payload', 'timestamp'],
            },
          },
        },
      },
      responses: {
        '2XX': { description: 'The event is delivered.' },
        410: { description: 'Gone: the service stops posting to this URL until the notification is updated.' },
        default: { description: 'The service retries the delivery on the schedule of `WEBHOOK_RETRY_SECONDS`.' },
      },
    },
  };
}
