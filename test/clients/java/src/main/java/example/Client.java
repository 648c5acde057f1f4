package example;

import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RequestInfo;
import com.google.rpc.ResourceInfo;
import com.relayer.v1.EvmTransactionRequest;
import com.relayer.v1.GetRelayerRequest;
import com.relayer.v1.GetTransactionRequest;
import com.relayer.v1.ListTransactionsRequest;
import com.relayer.v1.RecordView;
import com.relayer.v1.RelayerServiceGrpc;
import com.relayer.v1.ReplaceTransactionRequest;
import com.relayer.v1.SendTransactionRequest;
import com.relayer.v1.SignTypedDataRequest;
import com.relayer.v1.SigningServiceGrpc;
import com.relayer.v1.Speed;
import com.relayer.v1.Transaction;
import com.relayer.v1.TransactionServiceGrpc;
import com.relayer.v1.TransactionServiceGrpc.TransactionServiceBlockingStub;
import com.relayer.v1.TransactionStatus;
import com.relayer.v1.WatchTransactionsRequest;
import com.relayer.v1.WatchTransactionsResponse;
import com.relayer.v1.WatchTransactionsResponse.EventCase;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Context;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** A team's client in Java: grpc-java, its own stubs, and Google's packages for error details. */
public final class Client {
  private static final String RELAYER_ID = System.getenv("RELAYER_ID");
  private static final Metadata.Key<String> REPLAYED = Metadata.Key.of("idempotency-replayed", Metadata.ASCII_STRING_MARSHALLER);

  /** Retries what waiting helps; the service says with grpc-retry-pushback-ms how long to wait. */
  private static final Map<String, ?> RETRIES =
      Map.of(
          "methodConfig",
          List.of(
              Map.of(
                  "name",
                  List.of(Map.of("service", "relayer.v1.RelayerService")),
                  "retryPolicy",
                  Map.of(
                      "maxAttempts", 5.0,
                      "initialBackoff", "0.1s",
                      "maxBackoff", "2s",
                      "backoffMultiplier", 2.0,
                      "retryableStatusCodes", List.of("UNAVAILABLE", "RESOURCE_EXHAUSTED")))));

  private final TransactionServiceBlockingStub transactions;
  private final SigningServiceGrpc.SigningServiceBlockingStub signing;

  private Client(ManagedChannel channel) {
    transactions = TransactionServiceGrpc.newBlockingStub(channel);
    signing = SigningServiceGrpc.newBlockingStub(channel);
  }

  public static void main(String[] args) throws Exception {
    ManagedChannel channel = open(Grpc.newChannelBuilder(System.getenv("RELAYER_TARGET"), InsecureChannelCredentials.create()));
    Client client = new Client(channel);
    Iterator<WatchTransactionsResponse> stream = client.watch("");
    String token = untilSnapshot(stream);
    done("watch");
    String sent = client.sendTwice();
    client.replace(sent);
    token = untilConfirmed(stream, sent, token);
    done("confirmed");
    client.list();
    client.sign();
    client.errors();
    client.deadline();
    overTls();
    client.reconnect(stream, token);
    cutWatches();
    channel.shutdownNow();
    // The following thread may still be between two watches.
    System.exit(0);
  }

  /** Opens a channel whose every call carries the key. */
  private static ManagedChannel open(ManagedChannelBuilder<?> builder) {
    Metadata headers = new Metadata();
    headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + System.getenv("RELAYER_KEY"));
    return builder.intercept(MetadataUtils.newAttachHeadersInterceptor(headers)).build();
  }

  private static EvmTransactionRequest evm(int value) {
    return EvmTransactionRequest.newBuilder()
        .setTo("0x00000000000000000000000000000000000000A1")
        .setValue(Integer.toString(value))
        .setSpeed(Speed.SPEED_FAST)
        .build();
  }

  private static String send(TransactionServiceBlockingStub stub, String key, int value) {
    SendTransactionRequest.Builder request = SendTransactionRequest.newBuilder().setRelayerId(RELAYER_ID).setEvm(evm(value));
    if (!key.isEmpty()) request.setIdempotencyKey(key);
    return stub.sendTransaction(request.build()).getTransaction().getId();
  }

  private String sendTwice() {
    String key = UUID.randomUUID().toString();
    AtomicReference<Metadata> headers = new AtomicReference<>();
    TransactionServiceBlockingStub stub =
        transactions.withInterceptors(MetadataUtils.newCaptureMetadataInterceptor(headers, new AtomicReference<>()));
    String first = send(stub, key, 1000);
    require(headers.get().get(REPLAYED) == null, "the first answer calls itself a replay");
    String again = send(stub, key, 1000);
    require(first.equals(again), "one key, two transactions: " + first + " and " + again);
    require("true".equals(headers.get().get(REPLAYED)), "the second answer does not say that it is a replay");
    done("send");
    return first;
  }

  private void replace(String id) {
    Transaction replaced =
        transactions
            .replaceTransaction(
                ReplaceTransactionRequest.newBuilder().setRelayerId(RELAYER_ID).setTransactionId(id).setEvm(evm(2000)).build())
            .getTransaction();
    require(replaced.getEvm().getValue().equals("2000"), "the record has value " + replaced.getEvm().getValue());
    done("replace");
  }

  private Iterator<WatchTransactionsResponse> watch(String token) {
    WatchTransactionsRequest.Builder request = WatchTransactionsRequest.newBuilder().setRelayerId(RELAYER_ID);
    if (!token.isEmpty()) request.setResumeToken(token);
    return transactions.withWaitForReady().watchTransactions(request.build());
  }

  private static String untilSnapshot(Iterator<WatchTransactionsResponse> stream) {
    while (true) {
      WatchTransactionsResponse message = stream.next();
      if (message.getEventCase() == EventCase.SNAPSHOT_COMPLETE) return message.getResumeToken();
    }
  }

  private static String untilConfirmed(Iterator<WatchTransactionsResponse> stream, String id, String token) {
    say("mine");
    while (true) {
      WatchTransactionsResponse message = stream.next();
      token = message.getResumeToken();
      Transaction record = message.getTransaction();
      if (record.getId().equals(id) && record.getStatus() == TransactionStatus.TRANSACTION_STATUS_CONFIRMED) {
        require(record.getEvm().getValue().equals("2000"), "the chain has value " + record.getEvm().getValue());
        return token;
      }
    }
  }

  private void list() {
    for (int value = 3000; value < 3004; value++) send(transactions, "", value);
    Set<String> seen = new HashSet<>();
    ListTransactionsRequest.Builder request = ListTransactionsRequest.newBuilder().setRelayerId(RELAYER_ID).setPageSize(2).setView(RecordView.RECORD_VIEW_BASIC);
    do {
      var page = transactions.listTransactions(request.build());
      for (Transaction record : page.getTransactionsList()) require(seen.add(record.getId()), record.getId() + " is on two pages");
      request.setPageToken(page.getNextPageToken());
    } while (!request.getPageToken().isEmpty());
    require(seen.size() >= 5, seen.size() + " of 5 transactions are listed");
    say("mine");
    done("list");
  }

  private void sign() {
    var signature =
        signing
            .signTypedData(
                SignTypedDataRequest.newBuilder()
                    .setRelayerId(RELAYER_ID)
                    .setDomainSeparator("0xf2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f")
                    .setHashStructMessage("0xc52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e")
                    .build())
            .getSignature();
    require(signature.getSig().length() == 130 && (signature.getV() == 27 || signature.getV() == 28), "signature " + signature);
    done("sign");
  }

  private void errors() throws Exception {
    var bad = SendTransactionRequest.newBuilder().setRelayerId(RELAYER_ID).setEvm(evm(1).toBuilder().setTo("nowhere")).build();
    StatusRuntimeException invalid = failure(() -> transactions.sendTransaction(bad));
    require(invalid.getStatus().getCode() == Status.Code.INVALID_ARGUMENT, "a bad receiver is " + invalid.getStatus());
    ErrorInfo info = detail(invalid, ErrorInfo.class);
    require(info.getDomain().equals("relayer.v1") && !info.getReason().isEmpty(), "ErrorInfo " + info);
    String field = detail(invalid, BadRequest.class).getFieldViolations(0).getField();
    require(field.equals("evm.to"), "the violation is of " + field);

    var unknown = GetTransactionRequest.newBuilder().setRelayerId(RELAYER_ID).setTransactionId("none").build();
    StatusRuntimeException missing = failure(() -> transactions.getTransaction(unknown));
    require(missing.getStatus().getCode() == Status.Code.NOT_FOUND, "an unknown transaction is " + missing.getStatus());
    require(detail(missing, ResourceInfo.class).getResourceName().equals("none"), "ResourceInfo");
    require(!detail(missing, RequestInfo.class).getRequestId().isEmpty(), "no request id");
    done("errors");
  }

  /** A watch never ends by itself: only the deadline can end it. */
  private void deadline() {
    var stream =
        transactions
            .withDeadlineAfter(300, TimeUnit.MILLISECONDS)
            .watchTransactions(WatchTransactionsRequest.newBuilder().setRelayerId(RELAYER_ID).build());
    StatusRuntimeException end = failure(() -> stream.forEachRemaining(message -> {}));
    require(end.getStatus().getCode() == Status.Code.DEADLINE_EXCEEDED, "the deadline ends the watch with " + end.getStatus());
    done("deadline");
  }

  /** The second service has TLS and a small rate limit: every call succeeds since the client retries when it is told to. */
  private static void overTls() throws IOException {
    var credentials = TlsChannelCredentials.newBuilder().trustManager(new File(System.getenv("RELAYER_TLS_CA"))).build();
    ManagedChannel limited =
        open(Grpc.newChannelBuilder(System.getenv("RELAYER_TLS_TARGET"), credentials).defaultServiceConfig(RETRIES).enableRetry());
    var relayers = RelayerServiceGrpc.newBlockingStub(limited);
    for (int call = 0; call < 12; call++) relayers.getRelayer(GetRelayerRequest.newBuilder().setRelayerId(RELAYER_ID).build());
    limited.shutdownNow();
    done("retry over TLS");
  }

  /** The service stops, and starts again: the watch goes on where it ended, and misses nothing. */
  private void reconnect(Iterator<WatchTransactionsResponse> stream, String token) {
    String id = send(transactions, "", 2000);
    say("restart");
    // The token of the last message before the transaction: the rest of the watch is read again.
    AtomicReference<String> last = new AtomicReference<>(token);
    StatusRuntimeException end =
        failure(
            () ->
                stream.forEachRemaining(
                    message -> {
                      if (!message.getTransaction().getId().equals(id)) last.set(message.getResumeToken());
                    }));
    require(end.getStatus().getCode() == Status.Code.UNAVAILABLE, "the stop ends the watch with " + end.getStatus());
    untilConfirmed(watch(last.get()), id, last.get());
    done("reconnect");
  }

  /** An idle relayer's watch has its headers at once. A blocking stub shows them only to an interceptor. */
  private void measureHeaders() throws Exception {
    CountDownLatch arrived = new CountDownLatch(1);
    ClientInterceptor interceptor =
        new ClientInterceptor() {
          @Override
          public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
            return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
              @Override
              public void start(Listener<R> listener, Metadata headers) {
                super.start(
                    new SimpleForwardingClientCallListener<>(listener) {
                      @Override
                      public void onHeaders(Metadata received) {
                        arrived.countDown();
                        super.onHeaders(received);
                      }
                    },
                    headers);
              }
            };
          }
        };
    WatchTransactionsRequest request = WatchTransactionsRequest.newBuilder().setRelayerId(RELAYER_ID).build();
    try (Context.CancellableContext cut = Context.current().withCancellation()) {
      long started = System.nanoTime();
      cut.run(() -> transactions.withInterceptors(interceptor).watchTransactions(request));
      arrived.await();
      say("headers of grpc-java after " + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - started) + " ms");
    }
  }

  /** The connection is cut again and again; the watch goes on with its token. */
  private static void cutWatches() throws Exception {
    Client client = new Client(open(Grpc.newChannelBuilder(System.getenv("RELAYER_CUT_TARGET"), InsecureChannelCredentials.create())));
    client.measureHeaders();
    CountDownLatch opened = new CountDownLatch(1);
    Thread follower = new Thread(() -> client.follow(opened));
    follower.setDaemon(true);
    follower.setUncaughtExceptionHandler((thread, error) -> fail(error));
    follower.start();
    opened.await();
    say("cut 1");
    String line = new BufferedReader(new InputStreamReader(System.in)).readLine();
    require("end".equals(line), "the input says " + line);
    done("cut watches");
  }

  /** Reads from stream after stream, each from the token of the last message on. Prints what it reads. */
  private void follow(CountDownLatch opened) {
    String token = "";
    while (true) {
      try {
        Iterator<WatchTransactionsResponse> stream = watch(token);
        for (int count = 0; stream.hasNext(); count++) {
          WatchTransactionsResponse message = stream.next();
          if (count == 0) say("opened grpc-java");
          token = message.getResumeToken();
          opened.countDown();
          if (message.getEventCase() != EventCase.TRANSACTION) continue;
          Transaction record = message.getTransaction();
          say("change grpc-java " + record.getId() + " " + record.getRevision() + " " + record.getStatus().name());
        }
      } catch (StatusRuntimeException error) {
        // No later try helps if the service refuses the token. Any other error is the end of this connection.
        if (error.getStatus().getCode() == Status.Code.FAILED_PRECONDITION) throw error;
      }
    }
  }

  private static StatusRuntimeException failure(Runnable call) {
    try {
      call.run();
    } catch (StatusRuntimeException error) {
      return error;
    }
    throw new AssertionError("the call succeeded");
  }

  private static <T extends Message> T detail(StatusRuntimeException error, Class<T> type) throws Exception {
    for (var any : StatusProto.fromThrowable(error).getDetailsList()) if (any.is(type)) return any.unpack(type);
    throw new AssertionError("no " + type.getSimpleName() + " in " + error);
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private static void done(String step) {
    say("done " + step);
  }

  private static void require(boolean holds, String message) {
    if (!holds) fail(new AssertionError(message));
  }

  private static void fail(Throwable error) {
    error.printStackTrace();
    System.exit(1);
  }
}
