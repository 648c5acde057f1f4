// A team's client in C++: Debian's grpc++, its own stubs, and Google's definitions for error details.
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "relayer/v1/relayer_service.grpc.pb.h"
#include "relayer/v1/signing_service.grpc.pb.h"
#include "relayer/v1/transaction_service.grpc.pb.h"

using namespace relayer::v1;
using grpc::ClientContext;
using grpc::Status;
using grpc::StatusCode;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Watch = std::unique_ptr<grpc::ClientReader<WatchTransactionsResponse>>;

// Retries what waiting helps; the service says with grpc-retry-pushback-ms how long to wait.
const char* const kRetryPolicy = R"({"methodConfig": [{
  "name": [{"service": "relayer.v1.RelayerService"}],
  "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.1s", "maxBackoff": "2s", "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]})";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

const std::string relayer_id = Variable("RELAYER_ID");

void Say(const std::string& line) { std::cout << line << std::endl; }

void Done(const std::string& step) { Say("done " + step); }

void Require(bool holds, const std::string& message) {
  if (holds) return;
  std::cerr << message << std::endl;
  std::_Exit(EXIT_FAILURE);
}

void Check(const Status& status) { Require(status.ok(), std::to_string(status.error_code()) + ": " + status.error_message()); }

// The context of a call: it has the key.
std::unique_ptr<ClientContext> Call() {
  auto context = std::make_unique<ClientContext>();
  context->AddMetadata("authorization", "Bearer " + Variable("RELAYER_KEY"));
  return context;
}

EvmTransactionRequest Evm(int value) {
  EvmTransactionRequest request;
  request.set_to("0x00000000000000000000000000000000000000A1");
  request.set_value(std::to_string(value));
  request.set_speed(SPEED_FAST);
  return request;
}

template <typename Detail>
Detail DetailOf(const Status& status) {
  google::rpc::Status whole;
  Require(whole.ParseFromString(status.error_details()), "the error has no google.rpc.Status");
  Detail detail;
  for (const auto& any : whole.details()) {
    if (any.UnpackTo(&detail)) return detail;
  }
  Require(false, "no " + Detail::descriptor()->name() + " in " + status.error_message());
  return detail;
}

class Client {
 public:
  explicit Client(const std::shared_ptr<grpc::Channel>& channel)
      : transactions_(TransactionService::NewStub(channel)), signing_(SigningService::NewStub(channel)) {}

  // Sends, and returns the id. `replayed` becomes true if the answer says that it is a replay.
  std::string Send(int value, const std::string& key = "", bool* replayed = nullptr) {
    SendTransactionRequest request;
    request.set_relayer_id(relayer_id);
    if (!key.empty()) request.set_idempotency_key(key);
    *request.mutable_evm() = Evm(value);
    SendTransactionResponse response;
    const auto context = Call();
    Check(transactions_->SendTransaction(context.get(), request, &response));
    const auto& headers = context->GetServerInitialMetadata();
    const auto found = headers.find("idempotency-replayed");
    if (replayed != nullptr) *replayed = found != headers.end() && found->second == "true";
    return response.transaction().id();
  }

  std::string SendTwice() {
    const std::string key = "cpp-" + std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
    bool replayed = true;
    const std::string first = Send(1000, key, &replayed);
    Require(!replayed, "the first answer calls itself a replay");
    const std::string again = Send(1000, key, &replayed);
    Require(first == again, "one key, two transactions: " + first + " and " + again);
    Require(replayed, "the second answer does not say that it is a replay");
    Done("send");
    return first;
  }

  void Replace(const std::string& id) {
    ReplaceTransactionRequest request;
    request.set_relayer_id(relayer_id);
    request.set_transaction_id(id);
    *request.mutable_evm() = Evm(2000);
    ReplaceTransactionResponse response;
    Check(transactions_->ReplaceTransaction(Call().get(), request, &response));
    Require(response.transaction().evm().value() == "2000", response.DebugString());
    Done("replace");
  }

  Watch Open(ClientContext* context, const std::string& token) {
    WatchTransactionsRequest request;
    request.set_relayer_id(relayer_id);
    if (!token.empty()) request.set_resume_token(token);
    context->set_wait_for_ready(true);
    return transactions_->WatchTransactions(context, request);
  }

  void List() {
    for (int value = 3000; value < 3004; value++) Send(value);
    std::set<std::string> seen;
    ListTransactionsRequest request;
    request.set_relayer_id(relayer_id);
    request.set_page_size(2);
    request.set_view(RECORD_VIEW_BASIC);
    do {
      ListTransactionsResponse page;
      Check(transactions_->ListTransactions(Call().get(), request, &page));
      for (const auto& record : page.transactions()) Require(seen.insert(record.id()).second, record.id() + " is on two pages");
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    Require(seen.size() >= 5, std::to_string(seen.size()) + " of 5 transactions are listed");
    Say("mine");
    Done("list");
  }

  void Sign() {
    SignTypedDataRequest request;
    request.set_relayer_id(relayer_id);
    request.set_domain_separator("0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f");
    request.set_hash_struct_message("0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e");
    SignTypedDataResponse response;
    Check(signing_->SignTypedData(Call().get(), request, &response));
    const auto& signature = response.signature();
    Require(signature.sig().size() == 130 && (signature.v() == 27 || signature.v() == 28), response.DebugString());
    Done("sign");
  }

  void Errors() {
    SendTransactionRequest bad;
    bad.set_relayer_id(relayer_id);
    *bad.mutable_evm() = Evm(1);
    bad.mutable_evm()->set_to("nowhere");
    SendTransactionResponse none;
    const Status invalid = transactions_->SendTransaction(Call().get(), bad, &none);
    Require(invalid.error_code() == StatusCode::INVALID_ARGUMENT, "a bad receiver is " + std::to_string(invalid.error_code()));
    const auto info = DetailOf<google::rpc::ErrorInfo>(invalid);
    Require(info.domain() == "relayer.v1" && !info.reason().empty(), info.DebugString());
    const auto violations = DetailOf<google::rpc::BadRequest>(invalid);
    Require(violations.field_violations(0).field() == "evm.to", violations.DebugString());

    GetTransactionRequest unknown;
    unknown.set_relayer_id(relayer_id);
    unknown.set_transaction_id("none");
    GetTransactionResponse nothing;
    const Status missing = transactions_->GetTransaction(Call().get(), unknown, &nothing);
    Require(missing.error_code() == StatusCode::NOT_FOUND, "an unknown transaction is " + std::to_string(missing.error_code()));
    Require(DetailOf<google::rpc::ResourceInfo>(missing).resource_name() == "none", "ResourceInfo");
    Require(!DetailOf<google::rpc::RequestInfo>(missing).request_id().empty(), "no request id");
    Done("errors");
  }

  // A watch never ends by itself: only the deadline can end it.
  void Deadline() {
    const auto context = Call();
    context->set_deadline(std::chrono::system_clock::now() + milliseconds(300));
    const Watch stream = Open(context.get(), "");
    WatchTransactionsResponse message;
    while (stream->Read(&message)) {
    }
    const Status end = stream->Finish();
    Require(end.error_code() == StatusCode::DEADLINE_EXCEEDED, "the deadline ends the watch with " + end.error_message());
    Done("deadline");
  }

  // The service stops, and starts again: the watch goes on where it ended, and misses nothing.
  void Reconnect(const Watch& stream, std::string token) {
    const std::string id = Send(2000);
    Say("restart");
    WatchTransactionsResponse message;
    while (stream->Read(&message)) {
      if (message.transaction().id() != id) token = message.resume_token();
    }
    const Status end = stream->Finish();
    Require(end.error_code() == StatusCode::UNAVAILABLE, "the stop ends the watch with " + end.error_message());
    const auto context = Call();
    UntilConfirmed(Open(context.get(), token), id, &token);
    context->TryCancel();
    Done("reconnect");
  }

  // Reads from stream after stream, each from the token of the last message on. Prints what it reads.
  void Follow(std::promise<void> opened) {
    std::string token;
    while (true) {
      const auto context = Call();
      const auto started = Clock::now();
      const Watch stream = Open(context.get(), token);
      if (token.empty()) {
        stream->WaitForInitialMetadata();
        Say("headers of grpc++ after " + std::to_string(std::chrono::duration_cast<milliseconds>(Clock::now() - started).count()) + " ms");
      }
      WatchTransactionsResponse message;
      for (int count = 0; stream->Read(&message); count++) {
        if (count == 0) Say("opened grpc++");
        if (token.empty()) opened.set_value();
        token = message.resume_token();
        if (!message.has_transaction()) continue;
        const auto& record = message.transaction();
        Say("change grpc++ " + record.id() + " " + std::to_string(record.revision()) + " " + TransactionStatus_Name(record.status()));
      }
      // No later try helps if the service refuses the token. Any other error is the end of this connection.
      const Status end = stream->Finish();
      if (end.error_code() == StatusCode::FAILED_PRECONDITION) Check(end);
    }
  }

  static std::string UntilSnapshot(const Watch& stream) {
    WatchTransactionsResponse message;
    while (stream->Read(&message)) {
      if (message.has_snapshot_complete()) return message.resume_token();
    }
    Check(stream->Finish());
    Require(false, "the watch ended");
    return "";
  }

  static void UntilConfirmed(const Watch& stream, const std::string& id, std::string* token) {
    Say("mine");
    WatchTransactionsResponse message;
    while (stream->Read(&message)) {
      *token = message.resume_token();
      const auto& record = message.transaction();
      if (record.id() != id || record.status() != TRANSACTION_STATUS_CONFIRMED) continue;
      Require(record.evm().value() == "2000", record.DebugString());
      return;
    }
    Check(stream->Finish());
    Require(false, "the watch ended");
  }

 private:
  std::unique_ptr<TransactionService::Stub> transactions_;
  std::unique_ptr<SigningService::Stub> signing_;
};

// The second service has TLS and a small rate limit: every call succeeds since the client retries when it is told to.
void OverTls() {
  std::stringstream pem;
  pem << std::ifstream(Variable("RELAYER_TLS_CA")).rdbuf();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = pem.str();
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(kRetryPolicy);
  const auto channel = grpc::CreateCustomChannel(Variable("RELAYER_TLS_TARGET"), grpc::SslCredentials(options), arguments);
  const auto relayers = RelayerService::NewStub(channel);
  GetRelayerRequest request;
  request.set_relayer_id(relayer_id);
  for (int call = 0; call < 12; call++) {
    GetRelayerResponse response;
    Check(relayers->GetRelayer(Call().get(), request, &response));
  }
  Done("retry over TLS");
}

// The connection is cut again and again; the watch goes on with its token.
void CutWatches() {
  Client client(grpc::CreateChannel(Variable("RELAYER_CUT_TARGET"), grpc::InsecureChannelCredentials()));
  std::promise<void> opened;
  std::future<void> is_open = opened.get_future();
  std::thread([&client](std::promise<void> first) { client.Follow(std::move(first)); }, std::move(opened)).detach();
  is_open.wait();
  Say("cut 1");
  std::string line;
  Require(std::getline(std::cin, line) && line == "end", "the input says " + line);
  Done("cut watches");
  std::cout.flush();
  // The thread still reads.
  std::_Exit(EXIT_SUCCESS);
}

int main() {
  Client client(grpc::CreateChannel(Variable("RELAYER_TARGET"), grpc::InsecureChannelCredentials()));
  const auto context = Call();
  const Watch stream = client.Open(context.get(), "");
  std::string token = Client::UntilSnapshot(stream);
  Done("watch");
  const std::string sent = client.SendTwice();
  client.Replace(sent);
  Client::UntilConfirmed(stream, sent, &token);
  Done("confirmed");
  client.List();
  client.Sign();
  client.Errors();
  client.Deadline();
  OverTls();
  client.Reconnect(stream, token);
  CutWatches();
}
