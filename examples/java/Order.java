package example;

import com.relayer.v1.ContractCall;
import com.relayer.v1.EvmTransactionRequest;
import com.relayer.v1.ListTransactionsRequest;
import com.relayer.v1.ReadContractRequest;
import com.relayer.v1.RelayerServiceGrpc;
import com.relayer.v1.SendTransactionRequest;
import com.relayer.v1.Transaction;
import com.relayer.v1.TransactionServiceGrpc;
import com.relayer.v1.TransactionStatus;
import com.relayer.v1.WaitTransactionRequest;
import com.relayer.v1.WaitUntil;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import java.util.UUID;

/**
 * Pays an order in a token: sends by function, waits until the transaction is mined, reads the new balance, and finds the transaction by the number of
 * the order. The stubs are generated as docs/api.md shows.
 */
public final class Order {
  private static final String RELAYER_ID = System.getenv("RELAYER_ID");
  private static final String TOKEN = System.getenv("TOKEN");
  private static final String RECEIVER = System.getenv("RECEIVER");

  public static void main(String[] args) {
    Metadata headers = new Metadata();
    headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + System.getenv("RELAYER_KEY"));
    ManagedChannel channel =
        Grpc.newChannelBuilder(System.getenv("RELAYER_TARGET"), InsecureChannelCredentials.create())
            .intercept(MetadataUtils.newAttachHeadersInterceptor(headers))
            .build();
    var transactions = TransactionServiceGrpc.newBlockingStub(channel);
    var relayers = RelayerServiceGrpc.newBlockingStub(channel);
    String order = "order-" + UUID.randomUUID();

    // A second send for the same order fails with EXTERNAL_ID_TAKEN, so the order cannot be paid twice.
    ContractCall transfer = call("transfer(address to, uint256 amount)", "{\"to\": \"" + RECEIVER + "\", \"amount\": \"1000\"}");
    Transaction record =
        transactions
            .sendTransaction(
                SendTransactionRequest.newBuilder()
                    .setRelayerId(RELAYER_ID)
                    .setExternalId(order)
                    .setEvm(EvmTransactionRequest.newBuilder().setTo(TOKEN).setValue("0").setCall(transfer))
                    .build())
            .getTransaction();
    System.out.println("sent " + record.getId());

    // Each wait ends after 60 seconds, with the record as it is then.
    while (record.getStatus().getNumber() < TransactionStatus.TRANSACTION_STATUS_MINED_VALUE) {
      record =
          transactions
              .waitTransaction(
                  WaitTransactionRequest.newBuilder()
                      .setRelayerId(RELAYER_ID)
                      .setTransactionId(record.getId())
                      .setUntil(WaitUntil.WAIT_UNTIL_MINED)
                      .setTimeoutSeconds(60)
                      .build())
              .getTransaction();
    }
    if (record.getStatus().getNumber() > TransactionStatus.TRANSACTION_STATUS_CONFIRMED_VALUE) {
      throw new IllegalStateException("the transaction is " + record.getStatus() + ": " + record.getStatusReason());
    }
    System.out.println("mined " + record.getHash());

    ContractCall balanceOf = call("balanceOf(address owner) view returns (uint256)", "{\"owner\": \"" + RECEIVER + "\"}");
    var read = relayers.readContract(ReadContractRequest.newBuilder().setRelayerId(RELAYER_ID).setTo(TOKEN).setCall(balanceOf).build());
    // The result is JSON: an integer is a string of decimal digits.
    System.out.println("balance " + read.getResult().getResult().replace("\"", ""));

    var page = transactions.listTransactions(ListTransactionsRequest.newBuilder().setRelayerId(RELAYER_ID).setExternalId(order).build());
    for (Transaction found : page.getTransactionsList()) System.out.println("found " + found.getId());
    channel.shutdownNow();
  }

  private static ContractCall call(String function, String args) {
    return ContractCall.newBuilder().setFunctionSignature(function).setArgs(args).build();
  }
}
