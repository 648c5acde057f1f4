"""Verifies deliveries of the relayer service. Standard library only."""

import base64
import hashlib
import hmac
import json
import re
import time

# Deliveries that were signed longer ago, or are from the future, may be someone's recording of an earlier one.
REPLAY_WINDOW_SECONDS = 5 * 60


def verify_webhook(signing_key, headers, body, now=None):
    """Returns the event of a delivery; raises ValueError when it is not genuine.

    signing_key: the text that the notification was given.
    headers: a mapping with lower-case names.
    body: the exact bytes that came; parse them only after this.
    """
    id_ = headers.get("webhook-id")
    timestamp = headers.get("webhook-timestamp")
    signatures = headers.get("webhook-signature")
    if not id_ or not timestamp or not signatures:
        raise ValueError("not signed")
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise ValueError("the timestamp is no number")
    now = time.time() if now is None else now
    if abs(now - int(timestamp)) > REPLAY_WINDOW_SECONDS:
        raise ValueError("outside of the replay window")

    if signing_key.startswith("whsec_"):
        secret = base64.b64decode(signing_key[len("whsec_"):], validate=True)
    else:
        secret = signing_key.encode()
    signed = f"{id_}.{timestamp}.".encode() + body
    digest = hmac.new(secret, signed, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    # While a key is being replaced there is one signature for each key: one that matches is enough.
    matches = [hmac.compare_digest(entry.encode(), expected) for entry in signatures.split(" ")]
    if not any(matches):
        raise ValueError("no signature matches")
    return json.loads(body)
