// Pays an order in a token: sends by function, waits until the transaction is mined, reads the new balance, and finds the transaction by the number of
// the order. The stubs are generated as docs/api.md shows, with example.com/relayer-client as the module.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	relayer "example.com/relayer-client/v1"
)

func main() {
	connection, err := grpc.NewClient(os.Getenv("RELAYER_TARGET"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+os.Getenv("RELAYER_KEY"))
	transactions, relayers := relayer.NewTransactionServiceClient(connection), relayer.NewRelayerServiceClient(connection)
	relayerID, token, receiver := os.Getenv("RELAYER_ID"), os.Getenv("TOKEN"), os.Getenv("RECEIVER")
	order := fmt.Sprintf("order-%d", time.Now().UnixNano())

	// A second send for the same order fails with EXTERNAL_ID_TAKEN, so the order cannot be paid twice.
	sent, err := transactions.SendTransaction(ctx, &relayer.SendTransactionRequest{
		RelayerId:  relayerID,
		ExternalId: &order,
		Transaction: &relayer.SendTransactionRequest_Evm{Evm: &relayer.EvmTransactionRequest{
			To:    &token,
			Value: text("0"),
			Call:  call("transfer(address to, uint256 amount)", map[string]string{"to": receiver, "amount": "1000"}),
		}},
	})
	check(err)
	fmt.Println("sent", sent.Transaction.Id)

	// Each wait ends after 60 seconds, with the record as it is then.
	record := sent.Transaction
	for record.Status < relayer.TransactionStatus_TRANSACTION_STATUS_MINED {
		waited, err := transactions.WaitTransaction(ctx, &relayer.WaitTransactionRequest{
			RelayerId: relayerID, TransactionId: record.Id, Until: relayer.WaitUntil_WAIT_UNTIL_MINED, TimeoutSeconds: seconds(60),
		})
		check(err)
		record = waited.Transaction
	}
	if record.Status > relayer.TransactionStatus_TRANSACTION_STATUS_CONFIRMED {
		log.Fatalf("the transaction is %s: %s", record.Status, record.GetStatusReason())
	}
	fmt.Println("mined", record.GetHash())

	read, err := relayers.ReadContract(ctx, &relayer.ReadContractRequest{
		RelayerId: relayerID,
		To:        &token,
		Call:      call("balanceOf(address owner) view returns (uint256)", map[string]string{"owner": receiver}),
	})
	check(err)
	var balance string
	check(json.Unmarshal([]byte(read.Result.GetResult()), &balance))
	fmt.Println("balance", balance)

	found, err := transactions.ListTransactions(ctx, &relayer.ListTransactionsRequest{RelayerId: relayerID, ExternalId: &order})
	check(err)
	for _, each := range found.Transactions {
		fmt.Println("found", each.Id)
	}
}

func call(function string, args map[string]string) *relayer.ContractCall {
	encoded, err := json.Marshal(args)
	check(err)
	return &relayer.ContractCall{FunctionSignature: function, Args: string(encoded)}
}

func text(value string) *string { return &value }

func seconds(value uint32) *uint32 { return &value }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
