"""The client of a2a-sdk, one operation per run: see ../foreign-kit.ts."""

import asyncio
import sys
import uuid

import grpc
import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import A2A_ERROR_REASONS, A2AError

from words import HOOK, Fold, send_request, task_report, tell

BINDINGS = {"grpc": "GRPC", "rest": "HTTP+JSON", "jsonrpc": "JSONRPC"}
WELL_KNOWN = "/.well-known/agent-card.json"


async def open_client(binding, card_url, streaming=True):
    config = ClientConfig(
        streaming=streaming,
        supported_protocol_bindings=[BINDINGS[binding]],
        grpc_channel_factory=grpc.aio.insecure_channel,
        # An agent may think for longer than the 5 s that httpx waits.
        httpx_client=httpx.AsyncClient(timeout=60),
    )
    return await ClientFactory(config).create_from_url(card_url.removesuffix(WELL_KNOWN))


async def read(events):
    fold = Fold()
    async for event in events:
        fold.take(event)
    return fold.report()


async def send(binding, card, text, task_id="", context_id=""):
    client = await open_client(binding, card, streaming=False)
    return await read(client.send_message(send_request(pb, text, task_id, context_id)))


async def stream(binding, card, text):
    client = await open_client(binding, card)
    return await read(client.send_message(send_request(pb, text)))


async def resume(binding, card, text, other=None):
    client = await open_client(binding, card)
    fold = Fold()
    events = client.send_message(send_request(pb, text))
    async for event in events:
        fold.take(event)
        if fold.pieces == 2:
            break
    await events.aclose()
    await client.close()
    again = await open_client(binding, other or card)
    async for event in again.subscribe(pb.SubscribeToTaskRequest(id=fold.task.id)):
        fold.take(event)
    return fold.report()


async def cancel(binding, card):
    client = await open_client(binding, card, streaming=False)
    request = send_request(pb, "slow")
    request.configuration.return_immediately = True
    async for event in client.send_message(request):
        return task_report(await client.cancel_task(pb.CancelTaskRequest(id=event.task.id)))


async def list_tasks(binding, card, context_id):
    client = await open_client(binding, card)
    page = await client.list_tasks(pb.ListTasksRequest(context_id=context_id))
    return {"ok": True, "ids": [task.id for task in page.tasks]}


async def push(binding, card, task_id):
    client = await open_client(binding, card)
    named = {"task_id": task_id, "id": "hook"}
    await client.create_task_push_notification_config(pb.TaskPushNotificationConfig(url=HOOK, **named))
    read_back = await client.get_task_push_notification_config(pb.GetTaskPushNotificationConfigRequest(**named))
    assert read_back.url == HOOK, read_back
    listing = pb.ListTaskPushNotificationConfigsRequest(task_id=task_id)
    ids = [config.id for config in (await client.list_task_push_notification_configs(listing)).configs]
    await client.delete_task_push_notification_config(pb.DeleteTaskPushNotificationConfigRequest(**named))
    left = (await client.list_task_push_notification_configs(listing)).configs
    assert not left, left
    return {"ok": True, "ids": ids}


async def error(binding, card):
    client = await open_client(binding, card)
    return task_report(await client.get_task(pb.GetTaskRequest(id=str(uuid.uuid4()))))


OPERATIONS = {
    "send": send,
    "stream": stream,
    "resume": resume,
    "cancel": cancel,
    "list": list_tasks,
    "push": push,
    "error": error,
}


async def main(binding, card, operation, *args):
    try:
        tell(await OPERATIONS[operation](binding, card, *args))
    except A2AError as failure:
        tell({"ok": False, "error": repr(failure), "reason": A2A_ERROR_REASONS.get(type(failure))})


asyncio.run(main(*sys.argv[1:]))
