"""
Calls an A2A agent over gRPC. A stream that is cut is taken up again, until its task is at rest. Prints the frames, and then the task as it
is, each as a line of JSON.
"""

import json
import random
import sys
import time
import uuid

import grpc
from google.protobuf.json_format import MessageToJson
from lf.a2a.v1 import a2a_pb2 as a2a
from lf.a2a.v1.a2a_pb2_grpc import A2AServiceStub

VERSION = (("a2a-version", "1.0"),)
DEADLINE_S = 30
ATTEMPTS = 10
# How a stream ends where a connection is lost, a replica drained or a proxy restarted.
LOST = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}
# A send too: this server knows a repeat by its messageId, and its card says so (urn:throughline:a2a:idempotent-send:v1).
RETRY = {"maxAttempts": 5, "initialBackoff": "0.2s", "maxBackoff": "5s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}
OPTIONS = {
    # A task has up to 15 MiB; the default is 4.
    "grpc.max_receive_message_length": 16 * 1024 * 1024,
    # Finds out that a connection is half open. What arrives puts the PING off, and this server sends one every 15 s: so it gets none.
    # Others may be silent and allow one in five minutes only: 300_000 suits them all.
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 10_000,
    # Without this one too, an answer may take a minute.
    "grpc.http2.ping_timeout_ms": 10_000,
    # The default is two PINGs, and then no more until the caller itself says something, which it does not on a stream.
    "grpc.http2.max_pings_without_data": 0,
    # The default waits up to two minutes before it looks for a server again.
    "grpc.max_reconnect_backoff_ms": 5_000,
    "grpc.service_config": json.dumps({"methodConfig": [{"name": [{}], "retryPolicy": RETRY}]}),
}


def follow(stub, task_id="", send=None):
    """Answers the task at rest; of a `send`, where the agent makes no task of it, its message."""
    at_rest = False
    lost = 0
    while not at_rest and lost < ATTEMPTS:
        time.sleep(lost**2 * random.uniform(0.1, 0.2))
        # Also a clean end is a cut: only a state says that a task is at rest.
        lost += 1
        try:
            # No deadline: a task may take hours, and keepalive tells when the connection is dead.
            if task_id:
                frames = stub.SubscribeToTask(a2a.SubscribeToTaskRequest(id=task_id), metadata=VERSION)
            else:
                frames = stub.SendStreamingMessage(send, metadata=VERSION)
            for frame in frames:
                lost = 1
                show(frame)  # a task stands for everything before it, an update adds to it
                if frame.HasField("message") and not task_id:
                    return frame.message
                task_id = task_id or frame.task.id
                # The states after WORKING are those in which a task rests: it is over, or waits for its caller.
                at_rest = max(frame.task.status.state, frame.status_update.status.state) > a2a.TASK_STATE_WORKING
                if at_rest:
                    break
        except grpc.RpcError as error:
            # A task that is over is not streamed any more.
            at_rest = task_id != "" and error.code() == grpc.StatusCode.FAILED_PRECONDITION
            if not at_rest and error.code() not in LOST:
                raise
    if not task_id:
        raise SystemExit("the outcome is unknown: look for the task with ListTasks before you send again")
    return stub.GetTask(a2a.GetTaskRequest(id=task_id), timeout=DEADLINE_S, metadata=VERSION)


def show(message):
    print(MessageToJson(message, indent=None), flush=True)


def main():
    if len(sys.argv) != 4:
        raise SystemExit("usage: caller.py HOST:PORT send TEXT | stream TEXT | follow TASK | cancel TASK")
    address, command, argument = sys.argv[1:]
    message = a2a.Message(message_id=str(uuid.uuid4()), role=a2a.ROLE_USER, parts=[a2a.Part(text=argument)])
    # Across a network: grpc.secure_channel(address, grpc.ssl_channel_credentials(), …)
    with grpc.insecure_channel(address, options=OPTIONS.items()) as channel:
        stub = A2AServiceStub(channel)
        match command:
            case "send":
                # Nothing has to stay open while the agent works: `follow` shows the rest.
                now = a2a.SendMessageConfiguration(return_immediately=True)
                request = a2a.SendMessageRequest(message=message, configuration=now)
                answer = stub.SendMessage(request, timeout=DEADLINE_S, metadata=VERSION)
            case "stream":
                answer = follow(stub, send=a2a.SendMessageRequest(message=message))
            case "follow":
                answer = follow(stub, argument)
            case "cancel":
                answer = stub.CancelTask(a2a.CancelTaskRequest(id=argument), timeout=DEADLINE_S, metadata=VERSION)
            case _:
                raise SystemExit(f"no command {command}")
    show(answer)


if __name__ == "__main__":
    try:
        main()
    except grpc.RpcError as error:
        raise SystemExit(f"{error.code().name}: {error.details()}") from None
