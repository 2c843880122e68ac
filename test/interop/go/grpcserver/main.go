// Command grpcserver serves the word agent with plain grpc-go and stubs that are generated from the published schema.
package main

import (
	"log"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	pb "throughline/interop/a2apb"
	"throughline/interop/program"
)

const cardPath = "/.well-known/agent-card.json"

func main() {
	web, rpc := program.Listen(), program.Listen()
	card, err := protojson.Marshal(describe(rpc.Addr().String()))
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc(cardPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(card)
	})
	go func() { log.Fatal(http.Serve(web, nil)) }()

	server := grpc.NewServer()
	pb.RegisterA2AServiceServer(server, &service{})
	go func() { log.Fatal(server.Serve(rpc)) }()

	program.Ready("http://"+web.Addr().String()+cardPath, rpc.Addr().String())
}

func describe(address string) *pb.AgentCard {
	streaming, push := true, true
	return &pb.AgentCard{
		Name:                "Words",
		Description:         "Does what the first word of a message says",
		Version:             "1.0.0",
		SupportedInterfaces: []*pb.AgentInterface{{Url: "http://" + address, ProtocolBinding: "GRPC", ProtocolVersion: "1.0"}},
		Capabilities:        &pb.AgentCapabilities{Streaming: &streaming, PushNotifications: &push},
		DefaultInputModes:   []string{"text/plain"},
		DefaultOutputModes:  []string{"text/plain"},
		Skills:              []*pb.AgentSkill{{Id: "words", Name: "Words", Description: "Does what a word says", Tags: []string{"test"}}},
	}
}
