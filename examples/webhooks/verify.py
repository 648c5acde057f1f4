"""Verifies webhooks of the relayer service. Standard library only."""

import base64
import hashlib
import hmac
import json
import re
import time

# A webhook outside this window may be a recorded one.
REPLAY_WINDOW_SECONDS = 5 * 60


def verify_webhook(signing_key, headers, body, now=None):
    """Returns the event of a webhook. Raises ValueError if it is not genuine.

    signing_key: the notification's signing_key.
    headers: a mapping with lower-case names.
    body: the exact bytes received; parse them only after this.
    """
    id_ = headers.get("webhook-id")
    timestamp = headers.get("webhook-timestamp")
    signatures = headers.get("webhook-signature")
    if not id_ or not timestamp or not signatures:
        raise ValueError("not signed")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise ValueError("the timestamp is not a number")
    now = time.time() if now is None else now
    if abs(now - int(timestamp)) > REPLAY_WINDOW_SECONDS:
        raise ValueError("outside the replay window")

    if signing_key.startswith("whsec_"):
        secret = base64.b64decode(signing_key[len("whsec_"):], validate=True)
    else:
        secret = signing_key.encode()
    signed = f"{id_}.{timestamp}.".encode() + body
    digest = hmac.new(secret, signed, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    # During a key rotation there is one signature for each key. One match is enough.
    matches = [hmac.compare_digest(entry.encode(), expected) for entry in signatures.split(" ")]
    if not any(matches):
        raise ValueError("no signature matches")
    return json.loads(body)
