"""Pays an order in a token: sends by function, waits until the transaction is mined, reads the new balance, and finds the transaction by the number of
the order. The stubs are generated as docs/api.md shows, beside this file."""

import json
import os
import sys
import uuid

import grpc
from relayer.v1 import evm_pb2, relayer_service_pb2, relayer_service_pb2_grpc
from relayer.v1 import transaction_pb2, transaction_service_pb2 as messages, transaction_service_pb2_grpc

RELAYER_ID, TOKEN, RECEIVER = (os.environ[name] for name in ("RELAYER_ID", "TOKEN", "RECEIVER"))
METADATA = (("authorization", "Bearer " + os.environ["RELAYER_KEY"]),)


def call(function, **args):
    return evm_pb2.ContractCall(function_signature=function, args=json.dumps(args))


def say(line):
    print(line, flush=True)


with grpc.insecure_channel(os.environ["RELAYER_TARGET"]) as channel:
    transactions = transaction_service_pb2_grpc.TransactionServiceStub(channel)
    relayers = relayer_service_pb2_grpc.RelayerServiceStub(channel)
    order = f"order-{uuid.uuid4()}"

    # A second send for the same order fails with EXTERNAL_ID_TAKEN, so the order cannot be paid twice.
    transfer = call("transfer(address to, uint256 amount)", to=RECEIVER, amount="1000")
    evm = evm_pb2.EvmTransactionRequest(to=TOKEN, value="0", call=transfer)
    request = messages.SendTransactionRequest(relayer_id=RELAYER_ID, external_id=order, evm=evm)
    record = transactions.SendTransaction(request, metadata=METADATA).transaction
    say(f"sent {record.id}")

    # Each wait ends after 60 seconds, with the record as it is then.
    while record.status < transaction_pb2.TRANSACTION_STATUS_MINED:
        request = messages.WaitTransactionRequest(
            relayer_id=RELAYER_ID, transaction_id=record.id, until=messages.WAIT_UNTIL_MINED, timeout_seconds=60
        )
        record = transactions.WaitTransaction(request, metadata=METADATA).transaction
    if record.status > transaction_pb2.TRANSACTION_STATUS_CONFIRMED:
        sys.exit(f"the transaction is {transaction_pb2.TransactionStatus.Name(record.status)}: {record.status_reason}")
    say(f"mined {record.hash}")

    balance_of = call("balanceOf(address owner) view returns (uint256)", owner=RECEIVER)
    request = relayer_service_pb2.ReadContractRequest(relayer_id=RELAYER_ID, to=TOKEN, call=balance_of)
    balance = json.loads(relayers.ReadContract(request, metadata=METADATA).result.result)
    say(f"balance {balance}")

    request = messages.ListTransactionsRequest(relayer_id=RELAYER_ID, external_id=order)
    for found in transactions.ListTransactions(request, metadata=METADATA).transactions:
        say(f"found {found.id}")
