import { refTo, type Schema } from './schema.js';

/** What the header of every delivery is. */
const signatureHeaders: Readonly<Record<string, string>> = {
  'webhook-id': "The event's id, the same at every try.",
  'webhook-timestamp': 'When this try was made, in unix seconds.',
  'webhook-signature':
    '`v1,` and base64 of HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`; several, separated by spaces, while a key is replaced. There with a signing key.',
  'X-Signature': 'Base64 of HMAC-SHA256 over the body alone, by the text of the present key. There with a signing key.',
};

/** What the service posts to notifications, by the kind of event. */
export const webhooks: Readonly<Record<string, Schema>> = {
  transaction_update: webhook(
    'transaction_update',
    'A transaction was accepted, replaced, or changed its status',
    { payload_type: { type: 'string', const: 'transaction' } },
    [refTo('schemas', 'Transaction')],
  ),
  relayer_state_update: webhook(
    'relayer_state_update',
    'A relayer was disabled or enabled by the service, or its balance is low',
    {
      payload_type: { type: 'string', enum: ['relayer_disabled', 'relayer_enabled', 'relayer_low_balance'] },
      relayer: refTo('schemas', 'Relayer'),
    },
    [{ type: 'object', properties: { disable_reason: { type: 'string', description: 'Why it is disabled; only while it is.' } } }],
  ),
  test: webhook('test', 'A notification is tested', {
    payload_type: { type: 'string', const: 'test' },
    notification_id: { type: 'string', description: 'The notification that was tested.' },
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
        'Answer 2xx, soon; do the work after. It comes at least once, in order per transaction: `id` tells whether you have had it.',
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
                event: { type: 'string', const: event, description: 'The kind of event. More kinds may come.' },
                payload: { ...(more.length === 0 ? own : { allOf: [...more, own] }), description: 'What it is about.' },
                timestamp: { type: 'string', format: 'date-time', description: 'When it happened, the same at every try.' },
              },
              required: ['id', 'event', 'payload', 'timestamp'],
            },
          },
        },
      },
      responses: {
        '2XX': { description: 'It is delivered.' },
        410: { description: 'Gone: nothing is posted here any more until the notification is updated.' },
        default: { description: 'It is tried again, by the schedule of `WEBHOOK_RETRY_SECONDS`.' },
      },
    },
  };
}
