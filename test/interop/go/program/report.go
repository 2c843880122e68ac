package program

import (
	"encoding/json"
	"log"
	"os"
)

// Report is the last line of a client program.
type Report struct {
	OK        bool     `json:"ok"`
	State     string   `json:"state,omitempty"`
	Artifacts []string `json:"artifacts,omitempty"`
	Message   string   `json:"message,omitempty"`
	TaskID    string   `json:"taskId,omitempty"`
	ContextID string   `json:"contextId,omitempty"`
	IDs       []string `json:"ids,omitempty"`
	Error     string   `json:"error,omitempty"`
	Reason    string   `json:"reason,omitempty"`
}

// Print writes the report to stdout.
func (r Report) Print() {
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		log.Fatal(err)
	}
}
