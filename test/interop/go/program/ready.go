// Package program is what all the programs share: how they speak to the harness that runs them.
package program

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
)

// Listen opens a port of the system's choice on the loopback interface.
func Listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

// Ready tells the harness where the agent's card and its gRPC port are, and waits until the harness closes stdin.
func Ready(card, grpc string) {
	line, err := json.Marshal(map[string]string{"card": card, "grpc": grpc})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ready %s\n", line)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
