// Command grpcclient calls an agent with plain grpc-go: grpcclient grpc CARD-URL OPERATION [ARGS].
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	pb "throughline/interop/a2apb"
	"throughline/interop/program"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "a2a-version", "1.0")
	report, err := run(ctx, os.Args[2], os.Args[3], os.Args[4:])
	if err != nil {
		report = program.Report{Error: err.Error(), Reason: reasonOf(err)}
	}
	report.Print()
}

func run(ctx context.Context, cardURL, operation string, args []string) (program.Report, error) {
	conn, err := open(cardURL)
	if err != nil {
		return program.Report{}, err
	}
	client := pb.NewA2AServiceClient(conn)
	switch operation {
	case "send":
		return send(ctx, client, args)
	case "stream":
		return stream(ctx, client, args[0])
	case "resume":
		other := cardURL
		if len(args) > 1 {
			other = args[1]
		}
		return resume(ctx, conn, args[0], other)
	case "cancel":
		return cancelSlow(ctx, client)
	case "list":
		return list(ctx, client, args[0])
	case "push":
		return push(ctx, client, args[0])
	case "error":
		_, err := client.GetTask(ctx, &pb.GetTaskRequest{Id: "nobody-has-this"})
		return program.Report{OK: true}, err
	}
	return program.Report{}, fmt.Errorf("no such operation: %s", operation)
}

// open connects to the gRPC interface that a card names.
func open(cardURL string) (*grpc.ClientConn, error) {
	response, err := http.Get(cardURL)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	card := &pb.AgentCard{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, card); err != nil {
		return nil, err
	}
	for _, iface := range card.SupportedInterfaces {
		if iface.ProtocolBinding == "GRPC" {
			return grpc.NewClient(strings.TrimPrefix(iface.Url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
		}
	}
	return nil, fmt.Errorf("%s offers no gRPC", cardURL)
}

func reasonOf(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.Reason
		}
	}
	return ""
}
