"""Verifies webhooks of the relayer service with the package `standardwebhooks`."""

from standardwebhooks.webhooks import Webhook


def verify_webhook(signing_key, headers, body):
    """Returns the event of a webhook. Raises WebhookVerificationError if it is not genuine.

    signing_key: the notification's signing_key.
    headers: a mapping of header names to values.
    body: the exact bytes received.
    """
    # Text is taken as base64, so a key without `whsec_` must be given as bytes.
    secret = signing_key if signing_key.startswith("whsec_") else signing_key.encode()
    return Webhook(secret).verify(body, headers)
