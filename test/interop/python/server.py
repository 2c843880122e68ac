"""a2a-sdk with the word agent on its three bindings, put together as its samples do. Ends with its stdin."""

import asyncio
import json
import os
import socket
import sys
import threading

import grpc
import httpx
import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import a2a_pb2, a2a_pb2_grpc
from starlette.applications import Starlette

HOST = "127.0.0.1"
SLOW_SECONDS = 60


class WordAgent(AgentExecutor):
    async def execute(self, context, event_queue):
        text = context.get_user_input()
        word, _, rest = text.partition(" ")
        if context.current_task is None and word == "message":
            await event_queue.enqueue_event(new_text_message(rest, context_id=context.context_id))
            return
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if context.current_task is not None:
            await self.say(updater, text)
            return
        await event_queue.enqueue_event(new_task_from_user_message(context.message))
        if word == "echo":
            await self.say(updater, rest)
        elif word == "stream":
            await self.stream(updater, *map(int, rest.split()))
        elif word == "ask":
            await updater.requires_input(updater.new_agent_message([a2a_pb2.Part(text="What shall it say?")]))
        elif word == "slow":
            await updater.start_work()
            await asyncio.sleep(SLOW_SECONDS)
            await updater.complete()
        else:
            await updater.failed(updater.new_agent_message([a2a_pb2.Part(text="It was told to fail")]))

    async def say(self, updater, text):
        await updater.add_artifact([a2a_pb2.Part(text=text)], artifact_id="text", last_chunk=True)
        await updater.complete()

    async def stream(self, updater, count, milliseconds):
        await updater.start_work()
        for chunk in range(1, count + 1):
            if chunk > 1:
                await asyncio.sleep(milliseconds / 1000)
            parts = [a2a_pb2.Part(text=f"c{chunk} ")]
            await updater.add_artifact(parts, artifact_id="chunks", append=chunk > 1, last_chunk=chunk == count)
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def main():
    listening = socket.socket()
    listening.bind((HOST, 0))
    origin = f"http://{HOST}:{listening.getsockname()[1]}"
    grpc_server = grpc.aio.server()
    grpc_target = f"{HOST}:{grpc_server.add_insecure_port(f'{HOST}:0')}"
    urls = {"GRPC": grpc_target, "HTTP+JSON": f"{origin}/a2a/rest", "JSONRPC": f"{origin}/a2a/jsonrpc"}
    card = a2a_pb2.AgentCard(
        name="words",
        description="Does what the first word says",
        version="1.0.0",
        capabilities=a2a_pb2.AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[a2a_pb2.AgentSkill(id="words", name="Words", description="Words", tags=["words"])],
        supported_interfaces=[
            a2a_pb2.AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0") for binding, url in urls.items()
        ],
    )
    hooks = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=WordAgent(),
        task_store=InMemoryTaskStore(),
        agent_card=card,
        push_config_store=hooks,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), hooks),
    )
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), grpc_server)
    await grpc_server.start()
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, rpc_url="/a2a/jsonrpc"),
        *create_rest_routes(handler, path_prefix="/a2a/rest"),
    ]
    http_server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="warning"))
    # Connections wait in the socket's queue until it takes them.
    listening.listen()
    print("ready", json.dumps({"card": f"{origin}/.well-known/agent-card.json", "grpc": grpc_target}), flush=True)
    await http_server.serve(sockets=[listening])


def end_with_stdin():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_stdin, daemon=True).start()
asyncio.run(main())
