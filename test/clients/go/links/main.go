// Starts if the contract's stubs, Google's packages, the official health package and a team's own option share one binary.
package main

import (
	"fmt"

	_ "google.golang.org/genproto/googleapis/api/annotations"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	_ "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "example.com/relayer-client/inhouse"
	_ "example.com/relayer-client/v1"
)

func main() {
	for _, name := range []string{"relayer/v1/transaction_service.proto", "google/api/http.proto", "google/rpc/error_details.proto"} {
		if _, err := protoregistry.GlobalFiles.FindFileByPath(name); err != nil {
			panic(err)
		}
	}
	fmt.Println("linked")
}
