"""An agent on a2a-sdk that survives its own death: its tasks lie in files, and what was not finished goes on when it is started again.

usage: durable_agent.py DIRECTORY HTTP_PORT GRPC_PORT   ("lines 5 100": 5 lines, 100 ms apart; "ask": a question; "message x": no task)
Prints a line "ready" when it serves.
"""

import asyncio
import os
import sys

import grpc
import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import a2a_pb2, a2a_pb2_grpc
from starlette.applications import Starlette

HOST = "127.0.0.1"
DONE = {
    a2a_pb2.TASK_STATE_COMPLETED,
    a2a_pb2.TASK_STATE_FAILED,
    a2a_pb2.TASK_STATE_CANCELED,
    a2a_pb2.TASK_STATE_REJECTED,
    a2a_pb2.TASK_STATE_INPUT_REQUIRED,
}


class FileTaskStore(InMemoryTaskStore):
    """Every task that is saved is in a file before anything else happens."""

    def __init__(self, directory):
        super().__init__()
        self.directory = directory

    async def load(self):
        tasks = []
        for name in sorted(os.listdir(self.directory)):
            with open(os.path.join(self.directory, name), "rb") as file:
                tasks.append(a2a_pb2.Task.FromString(file.read()))
            await super().save(tasks[-1], ServerCallContext())
        return tasks

    async def save(self, task, context):
        path = os.path.join(self.directory, task.id)
        with open(f"{path}.new", "wb") as file:
            file.write(task.SerializeToString())
        os.replace(f"{path}.new", path)
        await super().save(task, context)


class Lines(AgentExecutor):
    async def execute(self, context, event_queue):
        word, _, rest = context.message.parts[0].text.partition(" ")
        task = context.current_task
        updater = TaskUpdater(event_queue, context.task_id, context.context_id)
        if word == "message":
            await event_queue.enqueue_event(new_text_message(rest, context_id=context.context_id))
            return
        if task is None:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        if word == "ask":
            await updater.requires_input(updater.new_agent_message([a2a_pb2.Part(text="Which?")]))
        elif word == "lines":
            count, milliseconds = map(int, rest.split())
            await self.lines(updater, task, count, milliseconds / 1000)
        else:
            await updater.add_artifact([a2a_pb2.Part(text=f"you said {word}")], artifact_id="answer", last_chunk=True)
            await updater.complete()

    async def lines(self, updater, task, count, seconds):
        """Goes on after the last line that its task has."""
        done = len(task.artifacts[0].parts) if task is not None and task.artifacts else 0
        await updater.start_work()
        for line in range(done, count):
            await asyncio.sleep(seconds)
            parts = [a2a_pb2.Part(text=f"line {line}\n")]
            await updater.add_artifact(parts, artifact_id="lines", append=line > 0, last_chunk=line == count - 1)
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def resume(handler, task):
    """Runs the agent again on a task that an earlier process has left."""
    context = ServerCallContext()
    active = await handler._active_task_registry.get_or_create(task.id, call_context=context, create_task_if_missing=False)
    request = a2a_pb2.SendMessageRequest(message=task.history[0])
    await active.enqueue_request(RequestContext(context, request, task.id, task.context_id, task))


async def main(directory, http_port, grpc_port):
    origin = f"http://{HOST}:{http_port}"
    urls = {"GRPC": f"{HOST}:{grpc_port}", "HTTP+JSON": f"{origin}/rest", "JSONRPC": f"{origin}/jsonrpc"}
    card = a2a_pb2.AgentCard(
        name="lines",
        description="Says lines",
        version="1.0.0",
        capabilities=a2a_pb2.AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[a2a_pb2.AgentSkill(id="lines", name="Lines", description="Says lines", tags=["lines"])],
        supported_interfaces=[
            a2a_pb2.AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0") for binding, url in urls.items()
        ],
    )
    store = FileTaskStore(directory)
    handler = DefaultRequestHandler(agent_executor=Lines(), task_store=store, agent_card=card)
    for task in await store.load():
        if task.status.state not in DONE:
            await resume(handler, task)
    grpc_server = grpc.aio.server()
    grpc_server.add_insecure_port(f"{HOST}:{grpc_port}")
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), grpc_server)
    await grpc_server.start()
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, rpc_url="/jsonrpc"),
        *create_rest_routes(handler, path_prefix="/rest"),
    ]
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), host=HOST, port=int(http_port), log_level="warning"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    print("ready", flush=True)
    await serving


asyncio.run(main(*sys.argv[1:]))
