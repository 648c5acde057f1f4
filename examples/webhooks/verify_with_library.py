"""Verifies webhooks of the relayer service with the package `standardwebhooks`."""

from standardwebhooks.webhooks import Webhook


def verify_webhook(signing_key, headers, body):
    """Returns the event of a webhook. Raises WebhookVerificationError if it is not genuine.

    signing_key: the notification's signing_key.
    headers: a mapping of header names to values.
    body: the exact bytes received.
    """
    # The library decodes text as base64, so pass a key without `whsec_` as bytes.
    secret = signing_key if signing_key.startswith("whsec_") else signing_key.encode()
    return Webhook(secret).verify(body, headers)
