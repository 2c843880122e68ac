"""a2a-sdk with the bench agent on its three bindings, put together as its samples do. Answers about memory and CPU; ends with its stdin."""

import asyncio
import gc
import json
import os
import resource
import socket
import sys
import threading
import time

import grpc
import uvicorn
from a2a.helpers import new_task_from_user_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2, a2a_pb2_grpc
from starlette.applications import Starlette

HOST = "127.0.0.1"


class Script:
    """What one task is to be like, by the `k=v` words of its message."""

    def __init__(self, text):
        words = dict(word.partition("=")[::2] for word in text.split())
        self.kind = words.get("kind", "artifact")
        self.events = int(words.get("events", 3))
        self.bytes = int(words.get("bytes", 100))
        self.delay, self.start, self.hold, self.silent = (
            int(words.get(name, 0)) / 1000 for name in ("delay", "start", "hold", "silent")
        )


def update_text(size):
    """When it was made, by the clock that all processes of this host share, and padding."""
    return f"t={time.monotonic_ns()} ".ljust(size, "x")


class BenchAgent(AgentExecutor):
    async def execute(self, context, event_queue):
        script = Script(context.get_user_input())
        await self.pause(script.silent)
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        await event_queue.enqueue_event(new_task_from_user_message(context.message))
        await updater.start_work()
        await self.pause(script.start)
        due = time.monotonic()
        for index in range(script.events):
            if index > 0 and script.delay > 0:
                due += script.delay
                await self.pause(due - time.monotonic())
            parts = [a2a_pb2.Part(text=update_text(script.bytes))]
            if script.kind == "status":
                await updater.start_work(updater.new_agent_message(parts))
            else:
                last = index == script.events - 1
                await updater.add_artifact(parts, artifact_id="bench", append=index > 0, last_chunk=last)
        await self.pause(script.hold)
        await updater.complete()

    async def pause(self, seconds):
        if seconds > 0:
            await asyncio.sleep(seconds)

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def main():
    listening = socket.socket()
    listening.bind((HOST, 0))
    origin = f"http://{HOST}:{listening.getsockname()[1]}"
    grpc_server = grpc.aio.server()
    grpc_target = f"{HOST}:{grpc_server.add_insecure_port(f'{HOST}:0')}"
    urls = {"grpc": grpc_target, "rest": f"{origin}/a2a/rest", "jsonrpc": f"{origin}/a2a/jsonrpc"}
    card = a2a_pb2.AgentCard(
        name="bench",
        description="Emits as many updates as the message asks for",
        version="1.0.0",
        capabilities=a2a_pb2.AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )
    handler = DefaultRequestHandler(agent_executor=BenchAgent(), task_store=InMemoryTaskStore(), agent_card=card)
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), grpc_server)
    await grpc_server.start()
    routes = [
        *create_jsonrpc_routes(handler, rpc_url="/a2a/jsonrpc"),
        *create_rest_routes(handler, path_prefix="/a2a/rest"),
    ]
    http_server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="error"))
    # Connections wait in the socket's queue until it takes them.
    listening.listen(4096)
    print("ready", json.dumps(urls), flush=True)
    await http_server.serve(sockets=[listening])


def answer():
    """A line `stats {…}` for each line of stdin, `gc` or anything else."""
    for line in sys.stdin:
        if line.strip() == "gc":
            gc.collect()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        cpu = round((usage.ru_utime + usage.ru_stime) * 1e6)
        print("stats", json.dumps({"rss": resident_bytes(), "cpu": cpu}), flush=True)
    os._exit(0)


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


threading.Thread(target=answer, daemon=True).start()
asyncio.run(main())
