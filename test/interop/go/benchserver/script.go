package main

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// script is what one task of the bench agent is to be like, by the `k=v` words of its message.
type script struct {
	events, bytes int
	status        bool
	delay, start  time.Duration
	hold, silent  time.Duration
}

func parse(text string) script {
	s := script{events: 3, bytes: 100}
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		number, _ := strconv.Atoi(value)
		ms := time.Duration(number) * time.Millisecond
		switch name {
		case "events":
			s.events = number
		case "bytes":
			s.bytes = number
		case "kind":
			s.status = value == "status"
		case "delay":
			s.delay = ms
		case "start":
			s.start = ms
		case "hold":
			s.hold = ms
		case "silent":
			s.silent = ms
		}
	}
	return s
}

// updateText says when it was made, by the clock that all processes of this host share, and is padded up to size.
func updateText(size int) string {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	text := "t=" + strconv.FormatInt(now.Nano(), 10) + " "
	return text + strings.Repeat("x", max(0, size-len(text)))
}
