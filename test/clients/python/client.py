"""A team's client in Python: grpcio, its own stubs, and Google's packages for error details."""

import json
import os
import sys
import threading
import time
import uuid

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from relayer.v1 import common_pb2, evm_pb2, relayer_service_pb2, relayer_service_pb2_grpc
from relayer.v1 import signing_service_pb2, signing_service_pb2_grpc
from relayer.v1 import transaction_pb2, transaction_service_pb2 as messages, transaction_service_pb2_grpc

RELAYER_ID = os.environ["RELAYER_ID"]
METADATA = (("authorization", "Bearer " + os.environ["RELAYER_KEY"]),)

# Retries what waiting helps; the service says with grpc-retry-pushback-ms how long to wait.
RETRY_POLICY = json.dumps(
    {
        "methodConfig": [
            {
                "name": [{"service": "relayer.v1.RelayerService"}],
                "retryPolicy": {
                    "maxAttempts": 5,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "2s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
                },
            }
        ]
    }
)

channel = grpc.insecure_channel(os.environ["RELAYER_TARGET"])
transactions = transaction_service_pb2_grpc.TransactionServiceStub(channel)
signing = signing_service_pb2_grpc.SigningServiceStub(channel)


def say(line):
    print(line, flush=True)


def evm(value):
    return evm_pb2.EvmTransactionRequest(
        to="0x00000000000000000000000000000000000000A1", value=str(value), speed=evm_pb2.SPEED_FAST
    )


def send(value, key=""):
    request = messages.SendTransactionRequest(relayer_id=RELAYER_ID, idempotency_key=key or None, evm=evm(value))
    response, call = transactions.SendTransaction.with_call(request, metadata=METADATA)
    return response.transaction.id, dict(call.initial_metadata())


def send_twice():
    key = str(uuid.uuid4())
    first, headers = send(1000, key)
    assert "idempotency-replayed" not in headers, headers
    again, headers = send(1000, key)
    assert again == first and headers["idempotency-replayed"] == "true", headers
    say("done send")
    return first


def watch(token="", timeout=None, stub=transactions, **options):
    request = messages.WatchTransactionsRequest(relayer_id=RELAYER_ID, resume_token=token or None)
    return stub.WatchTransactions(request, metadata=METADATA, timeout=timeout, **options)


def until_confirmed(stream, transaction_id, token):
    say("mine")
    for message in stream:
        token = message.resume_token or token
        record = message.transaction
        if record.id == transaction_id and record.status == transaction_pb2.TRANSACTION_STATUS_CONFIRMED:
            assert record.evm.value == "2000", record
            return token
    raise AssertionError("the watch ended")


def replace(transaction_id):
    request = messages.ReplaceTransactionRequest(relayer_id=RELAYER_ID, transaction_id=transaction_id, evm=evm(2000))
    assert transactions.ReplaceTransaction(request, metadata=METADATA).transaction.evm.value == "2000"
    say("done replace")


def list_by_token():
    for number in range(4):
        send(3000 + number)
    seen, token = set(), ""
    while True:
        request = messages.ListTransactionsRequest(
            relayer_id=RELAYER_ID, page_size=2, page_token=token, view=common_pb2.RECORD_VIEW_BASIC
        )
        page = transactions.ListTransactions(request, metadata=METADATA)
        for record in page.transactions:
            assert record.id not in seen, record.id
            seen.add(record.id)
        token = page.next_page_token
        if not token:
            break
    assert len(seen) >= 5, seen
    say("mine")
    say("done list")


def sign():
    request = signing_service_pb2.SignTypedDataRequest(
        relayer_id=RELAYER_ID,
        domain_separator="0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f",
        hash_struct_message="0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e",
    )
    signature = signing.SignTypedData(request, metadata=METADATA).signature
    assert len(signature.sig) == 130 and signature.v in (27, 28), signature
    say("done sign")


def failure(call, *arguments):
    """The code of a failed call, and its details by type."""
    try:
        call(*arguments, metadata=METADATA)
    except grpc.RpcError as error:
        details = {}
        for detail in rpc_status.from_call(error).details:
            for kind in ("ErrorInfo", "BadRequest", "ResourceInfo", "RequestInfo"):
                message = getattr(error_details_pb2, kind)()
                if detail.Unpack(message):
                    details[kind] = message
        return error.code(), details
    raise AssertionError("the call succeeded")


def errors():
    bad = evm(1)
    bad.to = "nowhere"
    code, details = failure(
        transactions.SendTransaction, messages.SendTransactionRequest(relayer_id=RELAYER_ID, evm=bad)
    )
    assert code == grpc.StatusCode.INVALID_ARGUMENT, code
    assert details["ErrorInfo"].domain == "relayer.v1" and details["ErrorInfo"].reason, details
    assert details["BadRequest"].field_violations[0].field == "evm.to", details
    code, details = failure(
        transactions.GetTransaction, messages.GetTransactionRequest(relayer_id=RELAYER_ID, transaction_id="none")
    )
    assert code == grpc.StatusCode.NOT_FOUND, code
    assert details["ResourceInfo"].resource_name == "none" and details["RequestInfo"].request_id, details
    say("done errors")


def deadline():
    """A watch never ends by itself: only the deadline can end it."""
    try:
        for _ in watch(timeout=0.3):
            pass
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED, error
    else:
        raise AssertionError("the watch ended without an error")
    say("done deadline")


def retry_over_tls():
    """The second service has TLS and a small rate limit: every call succeeds since the client retries when it is told to."""
    with open(os.environ["RELAYER_TLS_CA"], "rb") as pem:
        credentials = grpc.ssl_channel_credentials(pem.read())
    options = [("grpc.service_config", RETRY_POLICY), ("grpc.enable_retries", 1)]
    with grpc.secure_channel(os.environ["RELAYER_TLS_TARGET"], credentials, options) as limited:
        relayers = relayer_service_pb2_grpc.RelayerServiceStub(limited)
        for _ in range(12):
            relayers.GetRelayer(relayer_service_pb2.GetRelayerRequest(relayer_id=RELAYER_ID), metadata=METADATA)
    say("done retry over TLS")


def reconnect(stream, token):
    """The service stops, and starts again: the watch goes on where it ended, and misses nothing."""
    transaction_id, _ = send(2000)
    say("restart")
    try:
        for message in stream:
            if message.transaction.id != transaction_id:
                token = message.resume_token or token
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNAVAILABLE, error
    until_confirmed(watch(token, wait_for_ready=True), transaction_id, token)
    say("done reconnect")


def follow(stub, opened):
    """Reads from stream after stream, each from the token of the last message on. Prints what it reads."""
    token, started = "", time.monotonic()
    while True:
        try:
            stream = watch(token, stub=stub, wait_for_ready=True)
            if not token:
                stream.initial_metadata()
                say(f"headers of grpcio after {(time.monotonic() - started) * 1000:.0f} ms")
            for count, message in enumerate(stream):
                if count == 0:
                    say("opened grpcio")
                token = message.resume_token
                opened.set()
                if message.WhichOneof("event") == "transaction":
                    record = message.transaction
                    status = transaction_pb2.TransactionStatus.Name(record.status)
                    say(f"change grpcio {record.id} {record.revision} {status}")
        except grpc.RpcError as error:
            # No later try helps if the service refuses the token. Any other error is the end of this connection.
            if error.code() == grpc.StatusCode.FAILED_PRECONDITION:
                raise


def cut_watches():
    """The connection is cut again and again; the watch goes on with its token."""
    stub = transaction_service_pb2_grpc.TransactionServiceStub(grpc.insecure_channel(os.environ["RELAYER_CUT_TARGET"]))
    opened = threading.Event()
    threading.Thread(target=follow, args=(stub, opened), daemon=True).start()
    opened.wait()
    say("cut 1")
    assert sys.stdin.readline() == "end\n"
    say("done cut watches")


stream = watch()
token = ""
for message in stream:
    token = message.resume_token
    if message.WhichOneof("event") == "snapshot_complete":
        break
say("done watch")
sent = send_twice()
replace(sent)
token = until_confirmed(stream, sent, token)
say("done confirmed")
list_by_token()
sign()
errors()
deadline()
retry_over_tls()
reconnect(stream, token)
cut_watches()
