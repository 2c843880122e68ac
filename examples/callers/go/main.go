// Calls an A2A agent over gRPC. A stream that is cut is taken up again, until its task is at rest. Prints the frames, and then the task as
// it is, each as a line of JSON.
package main

//go:generate npx buf generate

import (
	"cmp"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"example.org/caller/a2a"
)

const (
	deadline = 30 * time.Second
	attempts = 10
)

var options = []grpc.DialOption{
	// Across a network: credentials.NewTLS(nil).
	grpc.WithTransportCredentials(insecure.NewCredentials()),
	// A task has up to 15 MiB; the default is 4.
	grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16 << 20)),
	// Finds out that a connection is half open. What arrives puts the PING off, and this server sends one every 15 s: so it gets none.
	// Others may be silent and allow one in five minutes only; 5 * time.Minute suits them all.
	grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Minute, Timeout: 10 * time.Second}),
	// The default waits up to two minutes before it looks for a server again.
	grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
		MinConnectTimeout: 10 * time.Second,
	}),
	// A send too may be repeated: this server knows it by its messageId (urn:throughline:a2a:idempotent-send:v1 in the card says so).
	grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.2s",
		"maxBackoff": "5s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`),
}

// follow answers the task at rest; of a send, where the agent makes no task of it, its message.
func follow(ctx context.Context, client a2a.A2AServiceClient, taskID string, send *a2a.SendMessageRequest) (proto.Message, error) {
	// No deadline: a task may take hours, and keepalive tells when the connection is dead.
	streaming, leave := context.WithCancel(ctx)
	defer leave()
	atRest := false
	for lost := 0; !atRest && lost < attempts; lost++ {
		time.Sleep(time.Duration(lost*lost*(100+rand.IntN(100))) * time.Millisecond)
		var stream grpc.ServerStreamingClient[a2a.StreamResponse]
		var err error
		if taskID != "" {
			stream, err = client.SubscribeToTask(streaming, &a2a.SubscribeToTaskRequest{Id: taskID})
		} else {
			stream, err = client.SendStreamingMessage(streaming, send)
		}
		for err == nil && !atRest {
			var frame *a2a.StreamResponse
			if frame, err = stream.Recv(); err != nil {
				break
			}
			lost = 0
			show(frame) // a task stands for everything before it, an update adds to it
			if frame.GetMessage() != nil && taskID == "" {
				return frame.GetMessage(), nil
			}
			taskID = cmp.Or(taskID, frame.GetTask().GetId())
			// The states after WORKING are those in which a task rests: it is over, or waits for its caller.
			state := cmp.Or(frame.GetTask().GetStatus().GetState(), frame.GetStatusUpdate().GetStatus().GetState())
			atRest = state > a2a.TaskState_TASK_STATE_WORKING
		}
		switch status.Code(err) {
		case codes.OK, codes.Unavailable, codes.Internal, codes.Unknown:
			// How a stream ends where a connection is lost, a replica drained or a proxy restarted. Unknown is io.EOF too: also a clean end
			// is a cut, as only a state says that a task is at rest.
		case codes.FailedPrecondition:
			// A task that is over is not streamed any more.
			if atRest = taskID != ""; !atRest {
				return nil, err
			}
		default:
			return nil, err
		}
	}
	if taskID == "" {
		return nil, errors.New("the outcome is unknown: look for the task with ListTasks before you send again")
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	return client.GetTask(ctx, &a2a.GetTaskRequest{Id: taskID})
}

func show(message proto.Message) {
	fmt.Println(protojson.MarshalOptions{}.Format(message))
}

func call(client a2a.A2AServiceClient, command, argument string) (proto.Message, error) {
	streaming := metadata.AppendToOutgoingContext(context.Background(), "a2a-version", "1.0")
	ctx, cancel := context.WithTimeout(streaming, deadline)
	defer cancel()
	parts := []*a2a.Part{{Content: &a2a.Part_Text{Text: argument}}}
	message := &a2a.Message{MessageId: crand.Text(), Role: a2a.Role_ROLE_USER, Parts: parts}
	switch command {
	case "send":
		// Nothing has to stay open while the agent works: follow shows the rest.
		now := &a2a.SendMessageConfiguration{ReturnImmediately: true}
		return client.SendMessage(ctx, &a2a.SendMessageRequest{Message: message, Configuration: now})
	case "stream":
		return follow(streaming, client, "", &a2a.SendMessageRequest{Message: message})
	case "follow":
		return follow(streaming, client, argument, nil)
	case "cancel":
		return client.CancelTask(ctx, &a2a.CancelTaskRequest{Id: argument})
	}
	return nil, fmt.Errorf("no command %q", command)
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: caller HOST:PORT send TEXT | stream TEXT | follow TASK | cancel TASK")
	}
	connection, err := grpc.NewClient(os.Args[1], options...)
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	answer, err := call(a2a.NewA2AServiceClient(connection), os.Args[2], os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	show(answer)
}
