// Starts if the contract's stubs, Google's definitions, the health check's, gRPC's reflection library and a team's own option share one binary.
#include <cstdlib>
#include <iostream>

#include <google/protobuf/descriptor.h>

#include "google/api/annotations.pb.h"
#include "google/rpc/error_details.pb.h"
#include "grpc/health/v1/health.pb.h"
#include "options.pb.h"
#include "relayer/v1/transaction_service.pb.h"

int main() {
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  google::rpc::ErrorInfo info;
  grpc::health::v1::HealthCheckRequest check;
  relayer::v1::SendTransactionRequest send;
  google::protobuf::MethodOptions options;
  options.SetExtension(inhouse::v1::owner, "payments");
  options.MutableExtension(google::api::http)->set_get("/");
  for (const char* name : {"relayer/v1/transaction_service.proto", "google/api/http.proto", "google/rpc/error_details.proto",
                           "grpc/health/v1/health.proto", "src/proto/grpc/reflection/v1alpha/reflection.proto"}) {
    if (pool->FindFileByName(name) == nullptr) {
      std::cerr << name << " is not registered\n";
      return EXIT_FAILURE;
    }
  }
  std::cout << "linked" << std::endl;
}
