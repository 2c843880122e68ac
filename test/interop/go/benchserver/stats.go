package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// stats are bytes of memory, and microseconds of CPU since the process began.
type stats struct {
	RSS      int64  `json:"rss"`
	HeapUsed uint64 `json:"heapUsed"`
	CPU      int64  `json:"cpu"`
}

// answer writes a line `stats {…}` for each line that it reads, `gc` or anything else, to the end of stdin.
func answer(in io.Reader) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if lines.Text() == "gc" {
			runtime.GC()
			debug.FreeOSMemory()
		}
		line, _ := json.Marshal(now())
		fmt.Printf("stats %s\n", line)
	}
}

func now() stats {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return stats{residentBytes(), memory.HeapAlloc, (usage.Utime.Nano() + usage.Stime.Nano()) / 1000}
}

// residentBytes answers 0 where there is no procfs.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int64
	_, _ = fmt.Sscan(string(text), &size, &resident)
	return resident * int64(os.Getpagesize())
}
