// Command sdkclient calls an agent with the Go SDK: sdkclient grpc|rest|jsonrpc CARD-URL OPERATION [ARGS].
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"throughline/interop/program"
)

var transports = map[string]a2a.TransportProtocol{
	"grpc":    a2a.TransportProtocolGRPC,
	"rest":    a2a.TransportProtocolHTTPJSON,
	"jsonrpc": a2a.TransportProtocolJSONRPC,
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	report, err := run(ctx, transports[os.Args[1]], os.Args[2], os.Args[3], os.Args[4:])
	if err != nil {
		report = program.Report{Error: err.Error(), Reason: a2a.ErrorReason(err)}
	}
	report.Print()
}

func run(ctx context.Context, transport a2a.TransportProtocol, cardURL, operation string, args []string) (program.Report, error) {
	client, err := open(ctx, transport, cardURL)
	if err != nil {
		return program.Report{}, err
	}
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
		return resume(ctx, client, args[0], func() (*a2aclient.Client, error) { return open(ctx, transport, other) })
	case "cancel":
		return cancelSlow(ctx, client)
	case "list":
		return list(ctx, client, args[0])
	case "push":
		return push(ctx, client, a2a.TaskID(args[0]))
	case "error":
		_, err := client.GetTask(ctx, &a2a.GetTaskRequest{ID: a2a.NewTaskID()})
		return program.Report{OK: true}, err
	}
	return program.Report{}, fmt.Errorf("no such operation: %s", operation)
}

func open(ctx context.Context, transport a2a.TransportProtocol, cardURL string) (*a2aclient.Client, error) {
	base, path, _ := strings.Cut(cardURL, "/.well-known/")
	card, err := agentcard.DefaultResolver.Resolve(ctx, base, agentcard.WithPath("/.well-known/"+path))
	if err != nil {
		return nil, err
	}
	return a2aclient.NewFromCard(ctx, card,
		a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{transport}}),
		a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())))
}
