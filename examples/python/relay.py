"""Sends, replaces and watches a transaction, signs typed data, and receives a webhook, with grpcio.

protoc (3.15 or later) and grpc_python_plugin generate stubs in a temporary folder, from the contract that the service hands out.
Debian packages: python3-grpcio, protobuf-compiler, protobuf-compiler-grpc, libprotobuf-dev. With pip's grpcio-tools, use
`python3 -m grpc_tools.protoc` instead of both programs. Run it against `npm start`:

    URL=http://127.0.0.1:8080 TOKEN=... python3 examples/python/relay.py
"""

import http.server
import io
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
import uuid
import zipfile

import grpc

ROOT = pathlib.Path(__file__).resolve().parents[2]
URL = os.environ.get("URL", "http://127.0.0.1:8080")
TOKEN = os.environ.get("TOKEN", "")
RELAYER = os.environ.get("RELAYER", "sandbox")


def generate_stubs(folder):
    with urllib.request.urlopen(urllib.parse.urljoin(URL, "/contract.zip")) as answer:
        archive = zipfile.ZipFile(io.BytesIO(answer.read()))
    archive.extractall(folder)
    plugin = f"--plugin=protoc-gen-grpc_python={shutil.which('grpc_python_plugin')}"
    out = [f"--python_out={folder}", f"--grpc_python_out={folder}"]
    subprocess.run(["protoc", f"--proto_path={folder}", plugin, *out, *archive.namelist()], check=True)
    sys.path.insert(0, folder)


def say(line):
    print(line, flush=True)


def send_replace_and_watch(channel, metadata):
    from relayer.v1 import evm_pb2, transaction_pb2, transaction_service_pb2, transaction_service_pb2_grpc

    transactions = transaction_service_pb2_grpc.TransactionServiceStub(channel)
    to = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
    sent = transactions.SendTransaction(
        transaction_service_pb2.SendTransactionRequest(
            relayer_id=RELAYER, evm=evm_pb2.EvmTransactionRequest(to=to, value="1000000000000000001")
        ),
        # A retry with the same key, for example after a timeout, returns the same transaction.
        metadata=metadata + [("idempotency-key", str(uuid.uuid4()))],
    ).transaction
    say(f"sent {sent.id}")

    transactions.ReplaceTransaction(
        transaction_service_pb2.ReplaceTransactionRequest(
            relayer_id=RELAYER, transaction_id=sent.id, evm=evm_pb2.EvmTransactionRequest(to=to, value="2")
        ),
        metadata=metadata,
    )
    say("replaced")

    watched = transactions.WatchTransactions(
        transaction_service_pb2.WatchTransactionsRequest(relayer_id=RELAYER, transaction_id=sent.id), metadata=metadata
    )
    for change in watched:
        if change.WhichOneof("event") != "transaction":
            continue
        status = change.transaction.status
        name = transaction_pb2.TransactionStatus.Name(status).removeprefix("TRANSACTION_STATUS_").lower()
        say(f"is {name} {change.transaction.hash}")
        if status >= transaction_pb2.TRANSACTION_STATUS_CONFIRMED:
            watched.cancel()
            break


def sign(channel, metadata):
    from relayer.v1 import signing_service_pb2, signing_service_pb2_grpc

    # The example in EIP-712.
    answer = signing_service_pb2_grpc.SigningServiceStub(channel).SignTypedData(
        signing_service_pb2.SignTypedDataRequest(
            relayer_id=RELAYER,
            domain_separator="0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f",
            hash_struct_message="0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e",
        ),
        metadata=metadata,
    )
    say(f"signed {answer.signature.sig}")


def receive_webhook(channel, metadata):
    """Runs a receiver on this machine, which the service may post to only with WEBHOOK_ALLOW_PRIVATE=true, as in the sandbox."""
    from relayer.v1 import notification_service_pb2 as messages
    from relayer.v1 import notification_service_pb2_grpc

    sys.path.insert(0, str(ROOT / "examples" / "webhooks"))
    from verify import verify_webhook

    arrived = queue.Queue()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            self.send_response(204)
            self.end_headers()
            arrived.put(({name.lower(): value for name, value in self.headers.items()}, body))

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    signing_key = "a-signing-key-of-the-example-0123456789"
    id_ = f"example-{time.time_ns()}"
    notifications = notification_service_pb2_grpc.NotificationServiceStub(channel)
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    notifications.CreateNotification(
        messages.CreateNotificationRequest(id=id_, url=url, signing_key=signing_key), metadata=metadata
    )
    notifications.TestNotification(messages.TestNotificationRequest(notification_id=id_), metadata=metadata)
    headers, body = arrived.get(timeout=30)
    event = verify_webhook(signing_key, headers, body)
    say(f"webhook {event['event']}: valid signature")
    notifications.DeleteNotification(messages.DeleteNotificationRequest(notification_id=id_), metadata=metadata)
    server.shutdown()


def main():
    with tempfile.TemporaryDirectory() as folder:
        generate_stubs(folder)
        metadata = [("authorization", f"Bearer {TOKEN}")]
        with grpc.insecure_channel(urllib.parse.urlparse(URL).netloc) as channel:
            send_replace_and_watch(channel, metadata)
            sign(channel, metadata)
            receive_webhook(channel, metadata)


if __name__ == "__main__":
    main()
