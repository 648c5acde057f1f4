"""Runs if the contract's stubs, Google's packages, the official health package and a team's own option share one process."""

import sys

import google.api.annotations_pb2
import grpc_health.v1.health_pb2
from google.protobuf import descriptor_pool
from google.rpc import error_details_pb2
from relayer.v1 import transaction_service_pb2

sys.path.append("inhouse_pb")
import options_pb2

for name in ("relayer/v1/transaction_service.proto", "google/api/http.proto", "google/rpc/error_details.proto"):
    descriptor_pool.Default().FindFileByName(name)
assert error_details_pb2.PreconditionFailure and options_pb2.owner and transaction_service_pb2.SendTransactionRequest
print("linked")
